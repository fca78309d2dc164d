package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdpoint/interaction"
	"holdpoint/internal/app"
)

func replayCommand(c *cli) *cobra.Command {
	var query string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "replay [FILE|DIR...]", Short: "Check that this build takes recorded or live runs on",
		Long: "Replays histories against the workflow code of this build, before it is deployed: those in files that\n" +
			"\"temporal workflow show --output json\" wrote, and in directories of such files; without any, those of the runs\n" +
			"that are open in the namespace of the TEMPORAL_* variables, or that --query selects. Nothing is changed there.\n" +
			"The exit code is 1 if one does not replay or can't be read.",
		RunE: func(cmd *cobra.Command, paths []string) error {
			r := &replays{c: c, asJSON: asJSON}
			var err error
			switch {
			case len(paths) == 0:
				err = app.ReplayLive(cmd.Context(), c.getenv, query, r.tell)
			case query != "":
				return usage("--query selects live runs; leave it out, or the files")
			default:
				err = app.ReplayFiles(cmd.Context(), c.getenv, paths, r.tell)
			}
			if err != nil {
				return err
			}
			return r.end()
		},
	}
	cmd.Flags().StringVar(&query, "query", "", "visibility query for live runs (default: those that are open)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per history")
	return cmd
}

// replays counts and tells.
type replays struct {
	c                  *cli
	asJSON             bool
	ok, failed, unread int
}

func (r *replays) tell(p app.Replayed) {
	problem, what := "", ""
	switch {
	case p.Err == nil:
		r.ok++
	case p.Unread:
		r.unread++
		problem, what = app.ReplayMistake(p.Err), "can't be read"
	default:
		r.failed++
		problem, what = app.ReplayMistake(p.Err), "does not replay"
	}
	switch {
	case r.asJSON:
		_ = r.c.printJSON(map[string]any{"history": p.Name, "ok": p.Err == nil, "unread": p.Unread, "problem": problem})
	case p.Err != nil:
		fmt.Fprintf(r.c.out, "%s: %s: %s\n", what, interaction.Visible(p.Name), interaction.Visible(problem))
	}
}

func (r *replays) end() error {
	if !r.asJSON {
		fmt.Fprintf(r.c.out, "%d replay, %d do not\n", r.ok, r.failed)
	}
	if r.unread > 0 && r.failed == 0 {
		return fmt.Errorf("%s can't be read, so nothing is known of %s: mend what is said above, and give the command again", number(r.unread, "history", "histories"),
			map[bool]string{true: "it", false: "them"}[r.unread == 1])
	}
	if r.failed > 0 {
		return fmt.Errorf("this build can't take %d of %d runs on: deploy it beside the old one, pinned, or change it", r.failed, r.ok+r.failed+r.unread)
	}
	return nil
}
