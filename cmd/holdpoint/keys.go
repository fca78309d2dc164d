package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdpoint/internal/app"
)

const keysLong = `A bridge that has a signing key signs each answer that it forwards, and the runs that it starts take no others: an answer
that comes by another way, such as Temporal's own tools, is refused, or taken up to a risk that the configuration says
(signing_key and unsigned_answers of type: bridge; docs/signatures.md).

The root key certifies signing keys. It is needed only to make them: keep it away from the bridge. Runs trust the root, so
a signing key is changed while they wait.

"keys usage" and "keys reseal" are about the keys of HOLDPOINT_ENCRYPTION_KEYS, under which the store is sealed (docs/security.md).`

func keysCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Make and change the keys that answers are signed with; see and change those that the store is sealed under", Long: keysLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(keysMakeCommand(c, "create", "Make a signing key, and the root key where there is none yet", app.CreateSigningKey),
		keysMakeCommand(c, "rotate", "Make another signing key in place of the bridge's", app.RotateSigningKey), keysShowCommand(c), keysUsageCommand(c), keysResealCommand(c))
	return cmd
}

func keysMakeCommand(c *cli, use, short string, made func(root, key string, now time.Time, life time.Duration) (app.SigningKey, error)) *cobra.Command {
	var root, key, life string
	cmd := &cobra.Command{Use: use + " --root FILE --key FILE", Short: short, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if root == "" || key == "" || root == key {
				return usage("name two files: --root for the root key, --key for the bridge's")
			}
			d, err := tokenLife(life)
			if err != nil || d == 0 {
				return usage("--life: %q is no time such as 90d or 720h", life)
			}
			k, err := made(root, key, c.now(), d)
			if errors.Is(err, app.ErrKeyThere) {
				return usage("%v: to change it, use `%s keys rotate`", err, c.name)
			}
			if err != nil {
				return err
			}
			c.showKey(key, k)
			fmt.Fprintln(c.out, "Restart the bridge to sign with it. Keep the root key away from the bridge.")
			return nil
		}}
	f := cmd.Flags()
	f.StringVar(&root, "root", "", "file of the root key")
	f.StringVar(&key, "key", "", "file of the bridge's signing key")
	f.StringVar(&life, "life", "90d", "how long the signing key is good, such as 90d")
	return cmd
}

func keysShowCommand(c *cli) *cobra.Command {
	return &cobra.Command{Use: "show FILE", Short: "Say what a bridge's signing key is and until when it is good", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := app.ShowSigningKey(args[0])
			if err != nil {
				return err
			}
			c.showKey(args[0], k)
			return nil
		}}
}

func (c *cli) showKey(file string, k app.SigningKey) {
	c.field(c.out, "Key", k.ID)
	c.field(c.out, "Root", k.Root)
	c.field(c.out, "Good until", k.NotAfter.UTC().Format(time.RFC3339))
	c.field(c.out, "File", file)
}
