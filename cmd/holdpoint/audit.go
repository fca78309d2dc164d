package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/app"
)

const auditVerifyLong = `Every run's record is a chain: each event has a hash of the one before it, of its own number, type and time, and of
what it says. This computes the chains anew and says where one does not hold: an event that was changed, removed, moved,
put in, or cut off at the end. What is stored of each question, of which the audit trail is made, is held against that: who
decided, what, when and on what. What was erased on purpose leaves its hash and is no fault. The bridge does it for the runs
that the token may see, or for those that are named; with --config it is done here, on the database, and the bridge need
not be trusted.

Who can write the whole database can also write a whole new chain, with its end. That shows only against what Temporal's
history has: the result of each activity names the event at which the chain then ended.

The exit code is 1 where a chain does not hold.`

func auditCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "See and export who decided what; verify that nothing in the record was changed", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(auditListCommand(c), auditExportCommand(c), auditVerifyCommand(c))
	return cmd
}

// verifier counts the records that hold, and prints those that don't.
type verifier struct {
	c             *cli
	asJSON        bool
	whole, broken int
}

func (r *verifier) take(v api.Verified) error {
	if v.Holds {
		r.whole++
	} else {
		r.broken++
	}
	if r.asJSON {
		return r.c.printLine(v)
	}
	if !v.Holds {
		fmt.Fprintf(r.c.out, "%s: %s\n", interaction.Visible(string(v.RunID)), interaction.Visible(v.Fault))
	}
	return nil
}

func (r *verifier) end() error {
	if !r.asJSON {
		fmt.Fprintf(r.c.out, "%s, %d do not.\n", number(r.whole, "record holds", "records hold"), r.broken)
	}
	if r.broken > 0 {
		return &exit{code: exitError}
	}
	return nil
}

func auditVerifyCommand(c *cli) *cobra.Command {
	o := app.Options{Getenv: c.getenv}
	var r remote // its data directory has the database, too, where the configuration names none
	v := verifier{c: c}
	cmd := &cobra.Command{
		Use: "verify [RUN_ID…] [--config DIR]", Short: "Compute the records' hash chains anew", Long: auditVerifyLong,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Config == "" {
				return c.verifyThere(cmd.Context(), &r, args, &v)
			}
			o.Data = r.data
			runs := make([]interaction.RunID, len(args))
			for n, id := range args {
				runs[n] = interaction.RunID(id)
			}
			if err := app.VerifyRecords(cmd.Context(), o, runs, v.take); err != nil {
				return err
			}
			return v.end()
		},
	}
	r.flags(c, cmd)
	f := cmd.Flags()
	f.StringVar(&o.Config, "config", "", "file or directory of YAML components, whose database is meant; the bridge is not asked then")
	f.BoolVar(&v.asJSON, "json", false, "print a line of JSON for each record")
	return cmd
}

// verifyThere has the bridge verify the records of runs: those that are named, or all that it shows.
func (c *cli) verifyThere(ctx context.Context, r *remote, refs []string, v *verifier) error {
	cl, err := c.connect(r)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		run, err := cl.findRun(ctx, ref)
		if err != nil {
			return err
		}
		if err := cl.verify(ctx, run.ID, v); err != nil {
			return err
		}
	}
	for q := (runsQuery{limit: pageSize}); len(refs) == 0; {
		page, err := cl.runs(ctx, q)
		if err != nil {
			return err
		}
		for _, run := range page.Items {
			if run.Root != "" {
				continue // its events are in the chain of the run that a person started
			}
			if err := cl.verify(ctx, run.ID, v); err != nil {
				return err
			}
		}
		if q.token = page.NextPageToken; q.token == "" {
			break
		}
	}
	return v.end()
}

func (cl *client) verify(ctx context.Context, run interaction.RunID, v *verifier) error {
	var out api.Verified
	if _, err := cl.do(ctx, call{method: http.MethodGet, path: runPath(run) + "/verification"}, &out); err != nil {
		return err
	}
	return v.take(out)
}
