package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/permission"
)

const rulesLong = `Rules say what may run without a person, what never may, and what asks. Those of a policy stand in
the configuration; those stored for a user are listed, added and revoked here, through the bridge.

USER is a user's id, or ` + api.OrganisationUser + ` for denies that bind everyone.`

func rulesCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "rules", Short: "What may run: list, add, revoke, check and test rules", Long: rulesLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(rulesListCommand(c), rulesAddCommand(c), rulesRevokeCommand(c),
		checkCommand(c, "check", "What would be decided on a call, in a line", (*cli).checkLine),
		checkCommand(c, "explain", "What would be decided on a call, and why", (*cli).checkWhole),
		checkCommand(c, "suggest", "The rules that would allow a call, narrowest first", (*cli).checkSuggest),
		rulesTemplatesCommand(c), rulesTestCommand(c), rulesImportCommand(c))
	return cmd
}

// userPath is where the rules of a user are.
func userPath(user, rest string) string { return "/v1/permissions/" + url.PathEscape(user) + rest }

func rulesListCommand(c *cli) *cobra.Command {
	var r remote
	q := map[string]*string{"agent": new(string), "scope": new(string), "effect": new(string), "state": new(string), "session": new(string)}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list USER", Short: "The rules stored for a user, and those that bind everyone", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			list, more, err := cl.rules(cmd.Context(), args[0], q)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(list)
			}
			c.ruleLists(list, more)
			return nil
		},
	}
	r.flags(c, cmd)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(q["agent"], "agent", "", "the rules of this agent's policy too")
	f.StringVar(q["scope"], "scope", "", "only of this scope: user, session, organisation")
	f.StringVar(q["effect"], "effect", "", "only allow, deny or ask")
	f.StringVar(q["state"], "state", "in_force", "in_force, ended or all")
	f.StringVar(q["session"], "session", "", "of the sessions' rules only those of this one")
	complete(cmd, "scope", choicesOf("user", "session", "organisation"))
	complete(cmd, "effect", choicesOf("allow", "deny", "ask"))
	complete(cmd, "state", choicesOf("in_force", "ended", "all"))
	complete(cmd, "agent", c.completing(&r, agentNames))
	return cmd
}

// rules reads a list whole. more says that it was too long for that.
func (cl *client) rules(ctx context.Context, user string, filter map[string]*string) (list api.RuleList, more bool, err error) {
	q := url.Values{"page_size": {"200"}}
	for name, value := range filter {
		if name == "session" {
			name = "session_id"
		}
		if *value != "" {
			q.Set(name, *value)
		}
	}
	list.Items = []api.RuleView{}
	for range maxPages {
		var page api.RuleList
		if _, err := cl.do(ctx, call{method: http.MethodGet, path: userPath(user, ""), query: q}, &page); err != nil {
			return list, false, err
		}
		list.Items = append(list.Items, page.Items...)
		list.Policy = append(list.Policy, page.Policy...)
		if page.NextPageToken == "" {
			return list, false, nil
		}
		q.Set("page_token", page.NextPageToken)
	}
	return list, true, nil
}

func (c *cli) ruleLists(list api.RuleList, more bool) {
	if len(list.Items) == 0 {
		fmt.Fprintln(c.out, "No rule is stored.")
	} else {
		rows := [][]string{{"ID", "EFFECT", "SCOPE", "STATE", "BY", "RULE"}}
		for _, v := range list.Items {
			rows = append(rows, []string{v.ID, v.Effect.String(), scopeText(v), c.stateText(v), orDash(v.GrantedBy), ruleText(v.Rule)})
		}
		c.tableRows(rows, func(n int, text string) string { return c.style.ruled(text, list.Items[n].Effect) })
	}
	if more {
		fmt.Fprintln(c.out, "There are more; narrow the list by --scope, --effect or --session.")
	}
	if len(list.Policy) == 0 {
		return
	}
	fmt.Fprintln(c.out, "\nThe policy, which is changed in the configuration:")
	rows := [][]string{{"EFFECT", "WHERE", "RULE"}}
	for _, r := range list.Policy {
		rows = append(rows, []string{r.Effect.String(), placeText(r.Source), ruleText(r)})
	}
	c.tableRows(rows, func(n int, text string) string { return c.style.ruled(text, list.Policy[n].Effect) })
}

// ruled colours what a rule does.
func (s style) ruled(text string, e permission.Effect) string {
	switch e {
	case permission.Deny:
		return s.red(text)
	case permission.Allow:
		return s.green(text)
	case permission.Ask:
		return s.yellow(text)
	}
	return text
}

func scopeText(v api.RuleView) string {
	if v.Scope == permission.LayerSession {
		return "session " + v.SessionID
	}
	return string(v.Scope)
}

// stateText says how long a rule still holds, or why it does not.
func (c *cli) stateText(v api.RuleView) string {
	var parts []string
	switch {
	case v.ReplacedBy != "":
		return "replaced by " + v.ReplacedBy
	case !v.RevokedAt.IsZero():
		return "revoked by " + orDash(string(v.RevokedBy))
	case !v.ExpiresAt.IsZero() && !c.now().Before(v.ExpiresAt):
		return "expired"
	case v.MaxUses > 0 && v.Uses >= v.MaxUses:
		return "used up"
	}
	if !v.ExpiresAt.IsZero() {
		parts = append(parts, left(v.ExpiresAt.Sub(c.now())))
	}
	if v.MaxUses > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d uses left", v.MaxUses-v.Uses, v.MaxUses))
	}
	if len(parts) == 0 {
		return "in force"
	}
	return "in force, " + strings.Join(parts, ", ")
}

func placeText(s permission.Source) string {
	switch {
	case s.File != "":
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	case s.Layer == permission.LayerProtected:
		return "built in"
	default:
		return orDash(s.Name)
	}
}

// ruleText is a rule's pattern with its conditions.
func ruleText(r permission.Rule) string {
	text := r.Pattern
	for n, w := range r.Where {
		if n == 0 {
			text += " where "
		} else {
			text += " and "
		}
		text += w.String()
	}
	return text
}

func rulesRevokeCommand(c *cli) *cobra.Command {
	var r remote
	cmd := &cobra.Command{
		Use: "revoke USER ID", Short: "End a rule, or all that were granted together under an id", Args: cobra.ExactArgs(2),
		Long: "Ends the rule of that id, or all that were granted together under it. It is in force at the next check, in every\n" +
			"worker: a call that was approved but has not begun is decided anew.",
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			var out api.Revoked
			_, err = cl.do(cmd.Context(), call{method: http.MethodDelete, path: userPath(args[0], "/"+url.PathEscape(args[1]))}, &out)
			if err != nil {
				return err
			}
			if len(out.Revoked) == 0 {
				fmt.Fprintln(c.out, "It had ended before.")
				return nil
			}
			fmt.Fprintf(c.out, "Revoked: %s\n", interaction.Visible(strings.Join(out.Revoked, ", ")))
			return nil
		},
	}
	r.flags(c, cmd)
	return cmd
}
