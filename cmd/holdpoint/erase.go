package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"holdpoint/interaction"
	"holdpoint/internal/app"
)

const eraseLong = `Erases what was said and done in sessions: inputs, transcripts, arguments, results, questions and answers, and the rules that
hold for the session alone. With --user, all sessions of a user, the rules stored for them and their tokens. What remains
are the runs' ids, agents, times and ends, and of each event its type, time and hash: "holdpoint audit verify" still holds.
It can't be undone. A session in which a run goes on is refused.

It works on the database of --config, or of the "holdpoint dev" of --data. The histories that Temporal keeps are named, with the commands that delete them.`

func eraseCommand(c *cli) *cobra.Command {
	o := app.Options{Getenv: c.getenv}
	var sessions, users []string
	var sure, asJSON bool
	cmd := &cobra.Command{
		Use: "erase [--config DIR] {--session ID… | --user ID…} --sure", Short: "Erase what was said and done in sessions, or all of a user's", Long: eraseLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(sessions)+len(users) == 0 {
				return usage("say what to erase: --session ID, or --user ID")
			}
			if !sure {
				return usage("it can't be undone: add --sure")
			}
			var what app.Erasure
			for _, id := range sessions {
				what.Sessions = append(what.Sessions, interaction.SessionID(id))
			}
			for _, id := range users {
				what.Users = append(what.Users, interaction.PrincipalID(id))
			}
			return app.Erase(cmd.Context(), o, what, func(e app.ErasedData) error {
				if asJSON {
					return c.printLine(e)
				}
				c.erased(e)
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Config, "config", "", "file or directory of YAML components, whose database is meant")
	f.StringVar(&o.Data, "data", defaultData, "data directory, where the configuration names no database")
	f.StringArrayVar(&sessions, "session", nil, "a session; may be repeated")
	f.StringArrayVar(&users, "user", nil, "a user; may be repeated")
	f.BoolVar(&sure, "sure", false, "it can't be undone, and is meant")
	f.BoolVar(&asJSON, "json", false, "print a line of JSON for each session and user")
	return cmd
}

func (c *cli) erased(e app.ErasedData) {
	if e.User != "" {
		fmt.Fprintf(c.out, "Of user %s: %s and %s.\n", interaction.Visible(string(e.User)), number(e.Rules, "rule", "rules"), number(e.Tokens, "token", "tokens"))
		return
	}
	fmt.Fprintf(c.out, "Session %s: %s. Temporal's histories of them:\n", interaction.Visible(string(e.Session)), number(e.Runs, "run", "runs"))
	for ids := range slices.Chunk(e.Workflows, historiesAtOnce) {
		fmt.Fprintf(c.out, "  temporal workflow delete --yes --query %s\n", shellWord(historiesOf(ids)))
	}
}

// historiesAtOnce bounds the length of a command.
const historiesAtOnce = 100

// historiesOf selects all executions of workflows: a session's runs share an id, by which alone the newest only would be deleted. One that
// goes on is another run's, since begun.
func historiesOf(ids []string) string {
	quoted := make([]string, len(ids))
	for n, id := range ids {
		quoted[n] = strconv.Quote(id)
	}
	return "WorkflowId IN (" + strings.Join(quoted, ", ") + `) AND ExecutionStatus != "Running"`
}
