package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"holdpoint/interaction"
	"holdpoint/internal/app"
)

const doctorLong = `Compares what the store says of runs with what Temporal knows of their workflows, and looks whether workers are there, whether
something is tried again and again, and whether notices are told. A worker does the same every ten minutes (--keep-every), and
mends what is safe; this shows what is so now.

With --mend, the record of a run whose workflow was ended from outside is closed, so that its questions leave the inbox, and
overdue notices are told. --give-up closes the record of a run of which Temporal knows no workflow at all: make sure first
that this is the right namespace.

Where the database or Temporal can't be reached, that is shown, and what the other knows by itself: without the database, which
workers are there and what is tried again and again. Nothing is mended then.

Without --config it looks at the running "holdpoint dev" of --data. The exit code is 1 where somebody has to do something.`

func doctorCommand(c *cli) *cobra.Command {
	o := app.Options{Getenv: c.getenv}
	var in app.Examination
	var giveUp []string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor [--config DIR]", Short: "Find what is not as it should be, and mend what is safe", Long: doctorLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, id := range giveUp {
				in.GiveUp = append(in.GiveUp, interaction.RunID(id))
			}
			res, err := app.Doctor(cmd.Context(), o, in)
			if err != nil && len(res.Findings) == 0 {
				return err
			}
			if asJSON {
				err = errors.Join(err, c.printJSON(res))
			} else {
				c.diagnosis(res)
			}
			if err == nil {
				err = givenUp(in.GiveUp, res)
			}
			for _, f := range res.Findings {
				if f.Fault() && err == nil {
					return &exit{code: exitError}
				}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Config, "config", "", "file or directory of YAML components")
	f.StringVar(&o.Data, "data", defaultData, "data directory")
	f.StringVar(&o.TaskQueue, "task-queue", "", "Temporal task queue (default \"holdpoint\")")
	f.BoolVar(&in.Mend, "mend", false, "mend what is safe to mend")
	f.StringSliceVar(&giveUp, "give-up", nil, "close the record of this run, whose workflow is lost; may be given again")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// givenUp refuses to pass over a run that was to be given up and is not among what was found: its id is misspelt, or its
// workflow is where it should be.
func givenUp(ids []interaction.RunID, res app.Diagnosis) error {
	for _, id := range ids {
		found := res.More
		for _, f := range res.Findings {
			if f.Unreachable() { // which says that nothing is mended
				return nil
			}
			found = found || f.RunID == id
		}
		if !found {
			return fmt.Errorf("--give-up %s: nothing is wrong with a run of that id, so nothing was closed: give the whole id of a run that is listed here", id)
		}
	}
	return nil
}

// diagnosis is what was found, for people.
func (c *cli) diagnosis(res app.Diagnosis) {
	faults := 0
	for _, f := range res.Findings {
		what := interaction.Visible(f.What)
		if f.RunID != "" {
			what = "run " + interaction.Visible(string(f.RunID)) + ": " + what
		} else if f.WorkflowID != "" {
			what = "workflow " + interaction.Visible(f.WorkflowID) + ": " + what
		}
		switch {
		case f.Mended:
			fmt.Fprintf(c.out, "mended   %s\n", what)
		case !f.Fault():
			fmt.Fprintf(c.out, "note     %s\n", what)
		default:
			faults++
			fmt.Fprintf(c.out, "FAULT    %s\n", what)
		}
		if f.Advice != "" {
			fmt.Fprintf(c.out, "         %s\n", interaction.Visible(f.Advice))
		}
	}
	if res.More {
		fmt.Fprintln(c.out, "There is more than is shown.")
	}
	fmt.Fprintf(c.out, "%s looked at: %s.\n", number(res.Runs, "open run was", "open runs were"), number(faults, "fault", "faults"))
}
