package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/interaction"
)

const runsLong = `Lists runs, newest first. With a RUN, shows that one and what it waits for.

RUN is a run's id, a session's id (which means its newest run), or the beginning of either that fits one only.`

// runStatuses are the statuses that a run can have.
var runStatuses = []string{string(agent.RunRunning), string(agent.RunAwaitingHuman), string(agent.RunPaused),
	string(agent.RunCompleted), string(agent.RunFailed), string(agent.RunAborted)}

func runsCommand(c *cli) *cobra.Command {
	var r remote
	var q runsQuery
	var asJSON bool
	cmd := &cobra.Command{
		Use: "runs [RUN]", Short: "List runs, or show one", Long: runsLong, Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: c.completing(&r, onlyFirst(runIDs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.check(); err != nil {
				return err
			}
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return c.runsOne(cmd.Context(), cl, &r, args[0], asJSON)
			}
			return c.runsList(cmd.Context(), cl, &r, q, asJSON)
		},
	}
	r.flags(c, cmd)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&q.status, "status", "", "only of this status: "+strings.Join(runStatuses, ", "))
	f.StringVar(&q.agent, "agent", "", "only of this agent")
	f.StringVar(&q.session, "session", "", "only of this session")
	f.StringVar(&q.user, "user", "", "only of this user")
	f.IntVar(&q.limit, "limit", 50, "as many at most")
	f.StringVar(&q.token, "page-token", "", "go on behind a list that was cut off, which says the token")
	complete(cmd, "status", choicesOf(runStatuses...))
	complete(cmd, "agent", c.completing(&r, agentNames))
	complete(cmd, "session", c.completing(&r, sessionIDs))
	return cmd
}

// check refuses filters that mean nothing.
func (q runsQuery) check() error {
	switch {
	case q.status != "" && !slices.Contains(runStatuses, q.status):
		return usage("%q is no status of a run: use one of %s", q.status, strings.Join(runStatuses, ", "))
	case q.limit < 1 || q.limit > 10000:
		return usage("--limit %d: use 1 to 10000, and --page-token to go on", q.limit)
	}
	return nil
}

func (c *cli) runsList(ctx context.Context, cl *client, r *remote, q runsQuery, asJSON bool) error {
	if q.session != "" {
		id, err := cl.findSession(ctx, q.session)
		if err != nil {
			return err
		}
		q.session = string(id)
	}
	page, err := cl.runs(ctx, q)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(page)
	}
	if len(page.Items) == 0 {
		fmt.Fprintln(c.out, "There are no such runs.")
		return nil
	}
	c.runTable(page.Items)
	if page.NextPageToken != "" {
		fmt.Fprintf(c.out, "\nThere are more: --page-token %s\n", shellWord(interaction.Visible(page.NextPageToken)))
	}
	fmt.Fprintf(c.out, "\nSee one: %s runs%s RUN\n", c.name, r.typed())
	return nil
}

// runTable writes one line per run.
func (c *cli) runTable(list []agent.Run) {
	short := shortRuns(list)
	rows := [][]string{{"RUN", "STATUS", "AGENT", "USER", "SESSION", "STARTED", "INPUT"}}
	for _, r := range list {
		rows = append(rows, []string{short[r.ID], string(r.Status), orDash(r.Agent), orDash(string(r.UserID)), shortSession(r.SessionID),
			age(c.now().Sub(r.StartedAt)) + " ago", summary(r.Input)})
	}
	c.tableRows(rows, func(n int, text string) string { return c.style.status(text, list[n].Status) })
}

// status colours what needs somebody or went wrong.
func (s style) status(text string, status agent.RunStatus) string {
	switch status {
	case agent.RunAwaitingHuman, agent.RunPaused:
		return s.yellow(text)
	case agent.RunFailed, agent.RunAborted:
		return s.red(text)
	case agent.RunRunning, agent.RunCompleted:
	}
	return text
}

// maxSummary is how much of a text a list shows.
const maxSummary = 60

// summary is the beginning of a text's first line.
func summary(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first = interaction.Visible(first)
	if utf8.RuneCountInString(first) > maxSummary {
		return string([]rune(first)[:maxSummary-1]) + "…"
	}
	if rest != "" {
		first += " …"
	}
	return first
}

// runPart is how much of a run's id a short form has.
const runPart = 8

// shortRuns gives each run the beginning of its id, or the whole where two would look alike.
func shortRuns(list []agent.Run) map[interaction.RunID]string {
	count := map[string]int{}
	seen := map[interaction.RunID]bool{}
	for _, r := range list {
		if !seen[r.ID] {
			count[string(r.ID)[:min(len(r.ID), runPart)]]++
		}
		seen[r.ID] = true
	}
	out := map[interaction.RunID]string{}
	for _, r := range list {
		if out[r.ID] = string(r.ID)[:min(len(r.ID), runPart)]; count[out[r.ID]] > 1 {
			out[r.ID] = string(r.ID)
		}
	}
	return out
}

// shortSession cuts the ids that were made for a session, and leaves those that somebody chose.
func shortSession(id interaction.SessionID) string {
	const made = 36
	if len(id) == made && strings.Count(string(id), "-") == 4 {
		return string(id)[:runPart]
	}
	return string(id)
}

func (c *cli) runsOne(ctx context.Context, cl *client, r *remote, ref string, asJSON bool) error {
	run, err := cl.findRun(ctx, ref)
	if err != nil {
		return err
	}
	v, found, err := cl.run(ctx, run.ID)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("run %s is not there any more", run.ID)
	case asJSON:
		return c.printJSON(v)
	}
	c.showRun(c.out, v)
	c.runLines(c.out, r, v)
	return nil
}

// showRun writes a run whole.
func (c *cli) showRun(w io.Writer, v api.RunView) {
	c.field(w, "Run", string(v.ID))
	fmt.Fprintf(w, "%-10s %s\n", "Status", c.style.status(interaction.Visible(string(v.Status)), v.Status))
	c.field(w, "Agent", v.Agent)
	c.field(w, "Session", string(v.SessionID))
	c.field(w, "Workflow", v.WorkflowID)
	who := string(v.UserID)
	if v.Requester != "" && v.Requester != v.UserID {
		who += ", requested by " + string(v.Requester)
	}
	c.field(w, "For", who)
	c.field(w, "Started", v.StartedAt.UTC().Format(time.RFC3339)+" ("+age(c.now().Sub(v.StartedAt))+" ago)")
	if !v.EndedAt.IsZero() {
		c.field(w, "Ended", v.EndedAt.UTC().Format(time.RFC3339)+" (after "+age(v.EndedAt.Sub(v.StartedAt))+")")
	}
	c.field(w, "Steps", fmt.Sprint(v.Steps))
	for _, key := range sortedKeys(v.Metadata) {
		c.field(w, "Metadata", key+"="+v.Metadata[key])
	}
	c.part(w, "Input", v.Input)
	if v.Output != "" {
		c.part(w, "Output", v.Output)
	}
	if v.ErrorCode+v.Error != "" {
		c.line(w, c.style.red(fmt.Sprintf("%-10s", "Error")), strings.TrimSpace(v.ErrorCode+" "+v.Error))
	}
}

// runLines says what can be done with a run.
func (c *cli) runLines(w io.Writer, r *remote, v api.RunView) {
	if len(v.Pending) > 0 {
		fmt.Fprintln(w, c.style.bold("Waits for a person"))
		for _, p := range v.Pending {
			c.line(w, "  "+interaction.Visible(shortID(p.ID))+"  "+c.style.risk(interaction.Visible(orDash(p.Risk)), p.Risk)+" ", p.Title)
		}
	}
	id := shellWord(interaction.Visible(string(v.ID)[:min(len(v.ID), runPart)]))
	if len(v.Pending) > 0 {
		fmt.Fprintf(w, "See what it asks: %s inbox%s --run %s\n", c.name, r.typed(), id)
	}
	fmt.Fprintf(w, "See what it did: %s steps%s %s\n", c.name, r.typed(), id)
	if !v.Status.Final() {
		fmt.Fprintf(w, "Follow it: %s watch%s %s\n", c.name, r.typed(), id)
	}
}
