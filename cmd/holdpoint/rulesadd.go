package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/permission"
)

const rulesAddLong = `Saves a rule for a user: allow lets a call that it matches run without a person, deny forbids it whatever
else is said. The rule takes the place of what was said of the same pattern before.

A condition holds one argument: --where amount<=100, --where to=acct1, --where 'title~Invoice *'.`

// life are the flags that say how long a rule holds, and where.
type life struct{ session, until, note, id string }

func (l *life) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.session, "session", "", "only inside this session")
	endVar(cmd, &l.until, "for", "how long it holds, such as 24h or 7d, or until when, as 2026-03-06T18:00:00Z")
	f.StringVar(&l.note, "note", "", "why, for the record")
	f.StringVar(&l.id, "id", "", "an id of your own, so that repeating the command does nothing")
}

// read splits --for into a length and an instant.
func (l *life) read() (in string, at time.Time, err error) {
	if l.until == "" {
		return "", at, nil
	}
	if t, err := time.Parse(time.RFC3339, l.until); err == nil {
		return "", t, nil
	}
	if _, err := interaction.ParseSpan(l.until); err != nil {
		return "", at, usage("--for %q: write a length such as 90m, 24h or 7d, or an instant such as 2026-03-06T18:00:00Z", l.until)
	}
	return l.until, at, nil
}

func rulesAddCommand(c *cli) *cobra.Command {
	var r remote
	var l life
	var uses int
	var where []string
	cmd := &cobra.Command{
		Use: "add USER allow|deny PATTERN", Short: "Save a rule for a user", Long: rulesAddLong, Args: cobra.ExactArgs(3),
		Example: "  holdpoint rules add alice allow 'bash(npm run test:*)' --for 24h\n  holdpoint rules add @organisation deny 'bash(git push --force:*)'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] != "allow" && args[1] != "deny" {
				return usage("%q: say allow or deny", args[1])
			}
			b := api.SaveRule{ID: l.id, Pattern: args[2], SessionID: interaction.SessionID(l.session), Note: l.note}
			if uses > 0 {
				b.MaxUses = &uses
			}
			var err error
			if b.ExpiresIn, b.ExpiresAt, err = l.read(); err != nil {
				return err
			}
			if b.Where, err = conditions(where); err != nil {
				return err
			}
			if b.ID == "" { // so that a second try of the same request does nothing
				b.ID = uuid.NewString()
			}
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			var out api.RuleView
			if _, err := cl.do(cmd.Context(), call{method: http.MethodPost, path: userPath(args[0], "/"+args[1]), body: b}, &out); err != nil {
				return err
			}
			fmt.Fprintf(c.out, "Saved: %s %s for %s, id %s\n", out.Effect, interaction.Visible(ruleText(out.Rule)), interaction.Visible(args[0]), interaction.Visible(out.ID))
			for _, old := range out.Replaced {
				fmt.Fprintf(c.out, "It takes the place of %s.\n", interaction.Visible(old))
			}
			if out.Warning != "" {
				fmt.Fprintf(c.err, "Warning: %s.\n", interaction.Visible(out.Warning))
			}
			return nil
		},
	}
	r.flags(c, cmd)
	l.flags(cmd)
	countVar(cmd, &uses, "max-uses", "how many calls may rest on an allow (default no bound)")
	cmd.Flags().StringArrayVar(&where, "where", nil, "a condition on an argument; may be repeated")
	return cmd
}

var conditionText = regexp.MustCompile(`^([^=<>~]+)(=|<=|>=|~)(.*)$`)

// conditions reads name=value, name<=n, name>=n and name~glob.
func conditions(texts []string) ([]permission.Condition, error) {
	var out []permission.Condition
	for _, t := range texts {
		m := conditionText.FindStringSubmatch(t)
		if m == nil {
			return nil, usage("--where %q: write name=value, name<=number, name>=number or name~glob", t)
		}
		cond := permission.Condition{Name: strings.TrimSpace(m[1])}
		value := strings.TrimSpace(m[3])
		switch m[2] {
		case "=":
			cond.Equals = json.RawMessage(value)
			if !json.Valid(cond.Equals) { // text needs no quotes
				cond.Equals, _ = json.Marshal(value)
			}
		case "<=":
			cond.Max = json.Number(value)
		case ">=":
			cond.Min = json.Number(value)
		case "~":
			cond.Glob = value
		}
		if err := cond.Check(); err != nil {
			return nil, usage("--where %q: %v", t, err)
		}
		out = append(out, cond)
	}
	return out, nil
}

func rulesTemplatesCommand(c *cli) *cobra.Command {
	var r remote
	var l life
	cmd := &cobra.Command{
		Use: "templates [NAME USER]", Short: "List the named rule sets, or grant one to a user",
		Long: "Lists the rule sets of the configuration (type: policy_template). With a NAME and a USER, grants that one in one step;\n" +
			"the id that is printed revokes all of it.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return fmt.Errorf("give a NAME and a USER to grant one, or neither to list them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				var list api.TemplateList
				if _, err := cl.do(cmd.Context(), call{method: http.MethodGet, path: "/v1/permission-templates"}, &list); err != nil {
					return err
				}
				c.templates(list.Items)
				return nil
			}
			b := api.GrantTemplate{ID: l.id, SessionID: interaction.SessionID(l.session), Note: l.note}
			if b.ExpiresIn, b.ExpiresAt, err = l.read(); err != nil {
				return err
			}
			if b.ID == "" {
				b.ID = uuid.NewString()
			}
			var out api.GrantedTemplate
			if _, err := cl.do(cmd.Context(), call{method: http.MethodPost, path: userPath(args[1], "/templates/"+url.PathEscape(args[0])), body: b}, &out); err != nil {
				return err
			}
			for _, rule := range out.Rules {
				if rule.Warning != "" {
					fmt.Fprintf(c.err, "Warning: %s.\n", interaction.Visible(rule.Warning))
				}
			}
			fmt.Fprintf(c.out, "Granted: %s of %s to %s\nRevoke them: %s rules revoke%s %s %s\n", number(len(out.Rules), "rule", "rules"), interaction.Visible(out.Template),
				interaction.Visible(args[1]), c.name, r.typed(), shellWord(interaction.Visible(args[1])), shellWord(interaction.Visible(out.ID)))
			return nil
		},
	}
	r.flags(c, cmd)
	l.flags(cmd)
	return cmd
}

func (c *cli) templates(list []api.RuleTemplate) {
	if len(list) == 0 {
		fmt.Fprintln(c.out, "The configuration has no template (type: policy_template).")
	}
	for _, t := range list {
		c.line(c.out, c.style.bold(interaction.Visible(t.Name)), t.Description)
		for _, rule := range t.Rules {
			c.line(c.out, "  "+rule.Effect.String(), ruleText(rule))
		}
	}
}
