package app

import (
	"fmt"
	"path/filepath"

	"holdpoint/api"
	"holdpoint/internal/config"
	"holdpoint/internal/secrets"
	"holdpoint/internal/store"
)

// secretKeyFile is where Dev keeps a key that it made.
const secretKeyFile = "secret.key"

// openSecrets makes the keys for secrets: those that are configured, or in Dev one of its own; none otherwise.
func (a *App) openSecrets(cfg *config.Config, dev bool) error {
	if len(cfg.Secrets) == 0 {
		if !dev {
			return nil
		}
		key, err := secrets.LoadOrMake(filepath.Join(a.o.Data, privateDir, secretKeyFile))
		if err != nil {
			return err
		}
		a.secrets = secrets.New(key)
		return nil
	}
	c := cfg.Secrets[0]
	keys := make([]secrets.Key, 0, 1+len(c.Old))
	for _, text := range append([]config.Secret{c.Key}, c.Old...) {
		key, err := secrets.ParseKey(text.Reveal())
		if err != nil {
			return fmt.Errorf("%s: secrets %s: a key %w", c.Pos, c.Name, err)
		}
		keys = append(keys, key)
	}
	a.secrets = secrets.New(keys[0], keys[1:]...)
	return nil
}

// secretKeeper gives the bridge its view of keys and store.
type secretKeeper struct {
	*secrets.Keys
	*store.Store
}

// bridgeSecrets is nil without a key.
func (a *App) bridgeSecrets() api.Secrets {
	if a.secrets == nil {
		return nil
	}
	return secretKeeper{a.secrets, a.store}
}
