package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdpoint/interaction"
	"holdpoint/internal/app"
)

const auditVerifyLong = `Every run's record is a chain: each event has a hash of the one before it, of its own number, type and time, and of
what it says. This computes the chains anew, of the runs that are named or of all in the database, and says where one
does not hold: an event that was changed, removed, moved, put in, or cut off at the end. What was erased on purpose
leaves its hash and is no fault.

Who can write the whole database can also write a whole new chain, with its end. That shows only against what Temporal's
history has: the result of each activity names the event at which the chain then ended.

The exit code is 1 where a chain does not hold.`

func auditCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "See and export who decided what; verify that nothing in the record was changed", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(auditListCommand(c), auditExportCommand(c), auditVerifyCommand(c))
	return cmd
}

func auditVerifyCommand(c *cli) *cobra.Command {
	o := app.Options{Getenv: c.getenv}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "verify --config DIR [RUN_ID…]", Short: "Compute the records' hash chains anew, on the database", Long: auditVerifyLong,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Config == "" {
				return usage("name the configuration whose database it is: --config DIR")
			}
			runs := make([]interaction.RunID, len(args))
			for n, id := range args {
				runs[n] = interaction.RunID(id)
			}
			whole, broken := 0, 0
			err := app.VerifyRecords(cmd.Context(), o, runs, func(v app.Verified) error {
				if v.Fault == "" {
					whole++
				} else {
					broken++
				}
				if asJSON {
					return c.printLine(v)
				}
				if v.Fault != "" {
					fmt.Fprintf(c.out, "%s: %s\n", interaction.Visible(string(v.RunID)), interaction.Visible(v.Fault))
				}
				return nil
			})
			if err != nil {
				return err
			}
			if !asJSON {
				fmt.Fprintf(c.out, "%d records hold, %d do not.\n", whole, broken)
			}
			if broken > 0 {
				return &exit{code: exitError}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Config, "config", "", "file or directory of YAML components, whose database is meant")
	f.StringVar(&o.Data, "data", defaultData, "data directory, where the configuration names no database")
	f.BoolVar(&asJSON, "json", false, "print a line of JSON for each record")
	return cmd
}
