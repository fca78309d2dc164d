package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdpoint/api"
	"holdpoint/interaction"
)

const auditListLong = `Lists the questions that came to an end, the newest first: who decided what, and what it ended in. What a run did beside
is in its own record: holdpoint watch RUN --no-follow.`

const auditExportLong = `Writes the trail, as far as you may see it, to stdout: as JSON lines, or as CSV for a spreadsheet. It is whole when the exit
code is 0.`

// auditQuery selects entries of the trail.
type auditQuery struct{ run, user, by, agent, tool, risk, status, action, words, since, until string }

func (q *auditQuery) flags(c *cli, r *remote, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&q.run, "run", "", "only of this run")
	f.StringVar(&q.user, "user", "", "only of runs for this user")
	f.StringVar(&q.by, "by", "", "only what this person answered")
	f.StringVar(&q.agent, "agent", "", "only what this agent, or one below it, asked")
	f.StringVar(&q.tool, "tool", "", "only about this tool")
	f.StringVar(&q.risk, "risk", "", "only of this risk: low, medium, high, critical")
	f.StringVar(&q.status, "status", "", "only what was answered, expired or cancelled")
	f.StringVar(&q.action, "action", "", "only what ended in this, such as approve or reject")
	f.StringVar(&q.words, "search", "", "only where all these words occur in what was asked")
	f.StringVar(&q.since, "since", "", "only what ended since: a time such as 2026-05-01T12:00:00Z, or a length such as 24h or 7d")
	f.StringVar(&q.until, "until", "", "only what ended before: a time or a duration")
	complete(cmd, "agent", c.completing(r, agentNames))
	complete(cmd, "run", c.completing(r, runIDs))
	complete(cmd, "status", choicesOf("answered", "expired", "cancelled"))
	complete(cmd, "risk", choicesOf("low", "medium", "high", "critical"))
}

// values is the query as the bridge takes it.
func (q *auditQuery) values(ctx context.Context, c *cli, cl *client) (url.Values, error) {
	v := url.Values{}
	for name, value := range map[string]string{"user": q.user, "by": q.by, "agent": q.agent, "tool": q.tool, "risk": q.risk, "status": q.status,
		"action": q.action, "q": q.words} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, value := range map[string]string{"since": q.since, "until": q.until} {
		if value == "" {
			continue
		}
		at, err := c.moment(name, value)
		if err != nil {
			return nil, err
		}
		v.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
	if q.run != "" {
		run, err := cl.findRun(ctx, q.run)
		if err != nil {
			return nil, err
		}
		v.Set("run_id", string(run.ID))
	}
	return v, nil
}

// moment is a time, or as long ago as a duration says.
func (c *cli) moment(flag, text string) (time.Time, error) {
	if d, err := interaction.ParseSpan(text); err == nil && d > 0 {
		return c.now().Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, usage("--%s: %q is neither a time such as 2026-05-01T12:00:00Z nor a length such as 24h or 7d", flag, text)
	}
	return t, nil
}

func auditListCommand(c *cli) *cobra.Command {
	var r remote
	var q auditQuery
	var limit int
	var token string
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "Who decided what, the newest first", Long: auditListLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 10000 {
				return usage("--limit %d: use 1 to 10000, and --page-token to go on", limit)
			}
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			v, err := q.values(cmd.Context(), c, cl)
			if err != nil {
				return err
			}
			list, err := cl.audit(cmd.Context(), v, limit, token)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(list)
			}
			c.auditTable(list)
			return nil
		}}
	r.flags(c, cmd)
	q.flags(c, &r, cmd)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.IntVar(&limit, "limit", 50, "as many at most")
	f.StringVar(&token, "page-token", "", "go on behind a list that was cut off, which says the token")
	return cmd
}

// audit reads pages until there are enough.
func (cl *client) audit(ctx context.Context, q url.Values, limit int, token string) (api.AuditList, error) {
	all := api.AuditList{Items: []api.AuditEntry{}}
	for {
		var page api.AuditList
		q.Set("page_size", strconv.Itoa(min(limit-len(all.Items), pageSize)))
		if q.Del("page_token"); token != "" {
			q.Set("page_token", token)
		}
		if _, err := cl.do(ctx, call{method: http.MethodGet, path: "/v1/audit", query: q}, &page); err != nil {
			return all, err
		}
		all.Items, all.NextPageToken = append(all.Items, page.Items...), page.NextPageToken
		if token = page.NextPageToken; token == "" || len(all.Items) >= limit {
			return all, nil
		}
	}
}

func (c *cli) auditTable(list api.AuditList) {
	if len(list.Items) == 0 {
		fmt.Fprintln(c.out, "Nothing such was decided.")
	} else {
		rows := [][]string{{"CLOSED", "ENDED IN", "BY", "RISK", "TOOL", "FOR", "INTERACTION", "TITLE"}}
		for _, e := range list.Items {
			rows = append(rows, []string{e.ClosedAt.Format("2006-01-02 15:04"), ended(e), orDash(strings.Join(deciders(e), " ")), orDash(e.Risk),
				orDash(e.ToolName), orDash(string(e.Requester)), string(e.InteractionID), summary(e.Title)})
		}
		c.tableRows(rows, func(_ int, text string) string { return text })
	}
	if list.NextPageToken != "" {
		fmt.Fprintf(c.out, "\nThere are more: --page-token %s\n", shellWord(interaction.Visible(list.NextPageToken)))
	}
}

// ended is what an entry ended in: expired and cancelled are no person's word.
func ended(e api.AuditEntry) string {
	if e.Status == interaction.StatusAnswered {
		return string(e.Action)
	}
	return string(e.Status)
}

func deciders(e api.AuditEntry) []string {
	var names []string
	for _, d := range e.Decisions {
		if name := d.By.Named(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func auditExportCommand(c *cli) *cobra.Command {
	var r remote
	var q auditQuery
	var format string
	cmd := &cobra.Command{Use: "export", Short: "Write the trail as JSON lines or CSV", Long: auditExportLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "jsonl" && format != "csv" {
				return usage("--format %q: use jsonl or csv", format)
			}
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			v, err := q.values(cmd.Context(), c, cl)
			if err != nil {
				return err
			}
			v.Set("format", format)
			return cl.copy(cmd.Context(), call{method: http.MethodGet, path: "/v1/audit", query: v}, c.out)
		}}
	r.flags(c, cmd)
	q.flags(c, &r, cmd)
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl or csv")
	complete(cmd, "format", choicesOf("jsonl", "csv"))
	return cmd
}

// copy writes an answer of any length as it comes.
func (cl *client) copy(ctx context.Context, k call, to io.Writer) error {
	resp, err := cl.send(ctx, k)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
		return cl.refusal(resp, data)
	}
	if _, err := io.Copy(to, resp.Body); err != nil {
		return fmt.Errorf("the export ended early and is not whole: %w", err)
	}
	return nil
}
