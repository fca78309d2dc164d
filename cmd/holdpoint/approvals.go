package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/interaction"
)

// approvalStatuses are what an approval can have become.
var approvalStatuses = []string{string(api.ApprovalPending), string(agent.DecisionApproved), string(agent.DecisionRejected),
	string(agent.DecisionDenied), string(agent.DecisionExpired), string(api.ApprovalCancelled)}

const approvalsLong = `Lists what programs asked and what became of it, newest first: what you asked, what was asked for you, and what is put to you.
An approval is a run, too: runs, watch and steps take its id.`

func approvalsCommand(c *cli) *cobra.Command {
	var r remote
	var status, user, tool, token string
	var mine, asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use: "approvals", Short: "List what programs asked", Long: approvalsLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if status != "" && !slices.Contains(approvalStatuses, status) {
				return usage("%q is no status of an approval: use one of %s", status, strings.Join(approvalStatuses, ", "))
			}
			if limit < 1 || limit > 200 {
				return usage("--limit %d: use 1 to 200, and --page-token to go on", limit)
			}
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			q := url.Values{"page_size": {strconv.Itoa(limit)}}
			for name, value := range map[string]string{"status": status, "user_id": user, "tool": tool, "page_token": token} {
				if value != "" {
					q.Set(name, value)
				}
			}
			if mine {
				q.Set("mine", "true")
			}
			var list api.ApprovalList
			if _, err := cl.do(cmd.Context(), call{method: http.MethodGet, path: "/v1/approvals", query: q}, &list); err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(list)
			}
			c.approvalTable(list)
			return nil
		},
	}
	r.flags(c, cmd)
	f := cmd.Flags()
	f.StringVar(&status, "status", "", "only of this status: "+strings.Join(approvalStatuses, ", "))
	f.StringVar(&user, "user", "", "only for this user")
	f.StringVar(&tool, "tool", "", "only by this name")
	f.BoolVar(&mine, "mine", false, "only what you asked, or what was asked for you")
	f.IntVar(&limit, "limit", 50, "as many at most")
	f.StringVar(&token, "page-token", "", "go on behind a list that was cut off, which says the token")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	complete(cmd, "status", choicesOf(approvalStatuses...))
	return cmd
}

// approvalTable writes one line per approval.
func (c *cli) approvalTable(list api.ApprovalList) {
	if len(list.Items) == 0 {
		fmt.Fprintln(c.out, "There are no such approvals here.")
	} else {
		rows := [][]string{{"APPROVAL", "STATUS", "BY", "USER", "ASKED", "TITLE"}}
		for _, a := range list.Items {
			by := strings.Trim(fmt.Sprint(a.By), "[]")
			rows = append(rows, []string{string(a.ApprovalID), string(a.Status), orDash(by), orDash(string(a.UserID)), age(c.now().Sub(a.CreatedAt)) + " ago", summary(a.Title)})
		}
		c.tableRows(rows, func(_ int, text string) string { return text })
	}
	if list.NextPageToken != "" {
		fmt.Fprintf(c.out, "\nThere are more: --page-token %s\n", shellWord(interaction.Visible(list.NextPageToken)))
	}
}
