package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"holdpoint/interaction"
)

const watchLong = `Follows a run's events until it ends, from its first. When the bridge goes away, it waits for it and goes on
where it was: each event is shown once. With --answer each question is put to you as it comes, as run does.

RUN is a run's id, a session's id (which means its newest run), or the beginning of either that fits one only.

Exit codes: 0 completed, 1 error, 2 usage, 3 the run failed, 4 the run was aborted by a person, 130 interrupted
(the run goes on). With --no-follow, 0 also where the run has not ended.`

func watchCommand(c *cli) *cobra.Command {
	var r remote
	var o watching
	var answer bool
	cmd := &cobra.Command{
		Use: "watch RUN", Short: "Follow a run to its end", Long: watchLong, Args: cobra.ExactArgs(1),
		ValidArgsFunction: c.completing(&r, onlyFirst(runIDs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch o.ask = answer; {
			case o.after < 0:
				return usage("--after %d: give the number of an event, as --json shows them", o.after)
			case answer && (!c.asks || o.json || o.once):
				return usage("--answer needs a terminal, and neither --json nor --no-follow: answer with `%s respond`", c.name)
			}
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			return c.watchRun(cmd.Context(), cl, &r, args[0], o)
		},
	}
	r.flags(c, cmd)
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print each event as a line of JSON")
	f.BoolVar(&answer, "answer", false, "put each question to you, at a terminal")
	f.BoolVar(&o.once, "no-follow", false, "show what is stored, and end")
	f.Int64Var(&o.after, "after", 0, "begin behind the event of this number")
	return cmd
}

func (c *cli) watchRun(ctx context.Context, cl *client, r *remote, ref string, o watching) error {
	run, err := cl.findRun(ctx, ref)
	if err != nil {
		return err
	}
	if !o.json {
		if o.closed, err = cl.closed(ctx, run.ID); err != nil {
			return err
		}
	}
	err = c.watch(ctx, cl, r, run.ID, o)
	if ctx.Err() != nil {
		id := interaction.Visible(string(run.ID))
		fmt.Fprintf(c.err, "\nRun %s goes on without you: %s watch%s %s\n", id, c.name, r.typed(), shellWord(id))
		return &exit{code: exitInterrupted}
	}
	return err
}

// closed are a run's questions that need no answer any more.
func (cl *client) closed(ctx context.Context, run interaction.RunID) (map[interaction.ID]bool, error) {
	list, _, err := cl.interactions(ctx, "", run)
	if err != nil {
		return nil, err
	}
	out := map[interaction.ID]bool{}
	for _, it := range list {
		out[it.ID] = it.Status.Final()
	}
	return out, nil
}
