package config

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// maxOldKeys bounds the keys that only decrypt.
const maxOldKeys = 20

// Secrets are the keys with which what people answer in confidence is kept.
type Secrets struct {
	Name string
	// Key encrypts, and Old decrypt too. Each is 32 bytes in base64.
	Key Secret
	Old []Secret
	Pos Pos
}

var secretsKeys = component("The key with which what people answer in confidence is kept (docs/secrets.md). Workers and bridges need the same. There is at most one.", object{
	keys: []key{
		{name: "key", shape: shapeSecret, required: true, doc: "32 bytes in base64, as `openssl rand -base64 32` makes, best as `${NAME}`."},
		{name: "old_keys", shape: shapeSecrets, most: maxOldKeys, defDoc: "none", doc: "Keys that were used before, by names of your own: they still decrypt."},
	},
})

func readSecrets(s *section, name string) {
	c := Secrets{Name: name, Pos: s.pos()}
	if text := s.text("key"); text != "" {
		if why := wrongKey("", text); why != "" {
			s.reportKey("key", "%s", why)
		}
		c.Key = NewSecret(text)
	}
	old := s.secrets("old_keys", wrongKey)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		c.Old = append(c.Old, old[name])
	}
	if n := len(s.l.config.Secrets); n > 0 {
		s.reportKey("type", "there are keys for secrets already, at %s: keep one component of this type, and put other keys into its old_keys", s.l.config.Secrets[0].Pos)
	}
	s.l.config.Secrets = append(s.l.config.Secrets, c)
}

// wrongKey says what is wrong with a key, without quoting it.
func wrongKey(_, text string) string {
	text = strings.TrimSpace(text)
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if b, err := encoding.DecodeString(text); err == nil && len(b) == 32 {
			return ""
		}
	}
	return "is no key: it must be 32 bytes in base64, as openssl rand -base64 32 makes"
}
