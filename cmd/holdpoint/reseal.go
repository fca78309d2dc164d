package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"holdpoint/interaction"
	"holdpoint/internal/app"
)

const keysUsageLong = `Counts what the store keeps, by the id of the key under which it is sealed. A key that is not in the list seals nothing in the
store any more; the histories that Temporal keeps may have payloads under it until Temporal's retention ends.

It works on the database of --config, or of the "holdpoint dev" of --data. The exit code is 1 where a key is in use that is not
in HOLDPOINT_ENCRYPTION_KEYS (or the file or command in its place).`

const keysResealLong = `Seals what the store keeps under the first key of HOLDPOINT_ENCRYPTION_KEYS: what is under other keys, and, with encryption: on,
what is in clear from before it was turned on. Processes go on meanwhile. It may be stopped and begun again at any time, and
does nothing where nothing is left to do. Begin it once all processes have been restarted with the new key first.

With encryption: required, what is in clear is left and named: it was put there by who has no key.

It works on the database of --config, or of the "holdpoint dev" of --data. The exit code is 1 where something remains.`

func keysUsageCommand(c *cli) *cobra.Command {
	o := app.Options{Getenv: c.getenv}
	var asJSON bool
	cmd := &cobra.Command{Use: "usage [--config DIR]", Short: "Count what the store keeps, by the key that sealed it", Long: keysUsageLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			uses, err := app.KeysInUse(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := c.keyUses(uses, asJSON); err != nil {
				return err
			}
			if slices.ContainsFunc(uses, func(u app.KeyUse) bool { return !u.Here }) {
				return &exit{code: exitError}
			}
			return nil
		}}
	databaseFlags(cmd, &o, &asJSON)
	return cmd
}

// databaseFlags are those of a command that works on the database without a bridge.
func databaseFlags(cmd *cobra.Command, o *app.Options, asJSON *bool) {
	f := cmd.Flags()
	f.StringVar(&o.Config, "config", "", "file or directory of YAML components, whose database is meant")
	f.StringVar(&o.Data, "data", defaultData, "data directory, where the configuration names no database")
	f.BoolVar(asJSON, "json", false, "print JSON")
}

func (c *cli) keyUses(uses []app.KeyUse, asJSON bool) error {
	if asJSON {
		return c.printJSON(uses)
	}
	for _, u := range uses {
		name := "key " + interaction.Visible(u.Key)
		switch {
		case u.Key == "":
			name = "in clear"
		case !u.Here:
			name += " (missing here)"
		}
		fmt.Fprintf(c.out, "%s: %d values\n", name, u.Values)
	}
	return nil
}

func keysResealCommand(c *cli) *cobra.Command {
	o := app.Options{Getenv: c.getenv}
	var asJSON bool
	cmd := &cobra.Command{Use: "reseal [--config DIR]", Short: "Seal what the store keeps under the newest key", Long: keysResealLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			told := int64(0)
			out, err := app.Reseal(cmd.Context(), o, func(r app.Resealed) {
				if done := r.Values / 1000; done > told && !asJSON {
					told = done
					fmt.Fprintf(c.err, "%d values…\n", r.Values)
				}
			})
			if err != nil {
				return err
			}
			if asJSON {
				err = c.printJSON(out)
			} else {
				c.resealed(out)
			}
			if err == nil && len(out.Missing)+len(out.Broken) > 0 {
				return &exit{code: exitError}
			}
			return err
		}}
	databaseFlags(cmd, &o, &asJSON)
	return cmd
}

func (c *cli) resealed(out app.Resealed) {
	fmt.Fprintf(c.out, "%d values were sealed under key %s.\n", out.Values, interaction.Visible(out.Key))
	for _, id := range slices.Sorted(maps.Keys(out.Missing)) {
		fmt.Fprintf(c.out, "%d values stay under key %s, which is not here: add it to HOLDPOINT_ENCRYPTION_KEYS and begin again.\n", out.Missing[id], interaction.Visible(id))
	}
	for _, place := range out.Broken {
		fmt.Fprintf(c.out, "%s: no key opens it: it was changed, moved, or put in.\n", interaction.Visible(place))
	}
	if len(out.Missing)+len(out.Broken) == 0 {
		fmt.Fprintln(c.out, "Nothing in the store is in clear or under another key. Temporal's histories may be, until their retention ends.")
	}
}
