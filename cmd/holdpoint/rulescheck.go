package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/permission"
)

const checkLong = `Asks the bridge what would be decided on a call now. Nothing is run or saved.

TOOL is the tool's name; CALL is its main argument: the command of bash, the path of a file tool, the URL
of http_fetch, with a method before it if it is not GET. For any other tool it is the arguments as JSON.

Without --agent no policy counts, only stored rules and the tool's default.`

// checked are the flags of a check.
type checked struct {
	user, agent, session, args string
	asJSON                     bool
}

// checkCommand is one of the ways of showing a check.
func checkCommand(c *cli, name, short string, show func(*cli, *remote, checked, []string, api.Checked)) *cobra.Command {
	var r remote
	var q checked
	cmd := &cobra.Command{
		Use: name + " TOOL [CALL]", Short: short, Long: checkLong, Args: cobra.RangeArgs(1, 2),
		Example: "  holdpoint rules " + name + " bash 'git status && npm test' --user alice --agent coder",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := callArgs(args, q.args)
			if err != nil {
				return err
			}
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			var out api.Checked
			b := api.CheckRequest{UserID: interaction.PrincipalID(q.user), Agent: q.agent, SessionID: interaction.SessionID(q.session), Tool: args[0], ArgsRaw: text}
			if _, err := cl.do(cmd.Context(), call{method: http.MethodPost, path: "/v1/permissions/check", body: b}, &out); err != nil {
				return err
			}
			if q.asJSON {
				return c.printJSON(out)
			}
			show(c, &r, q, args, out)
			if q.agent == "" && name == "explain" {
				c.offerAgents(cmd.Context(), cl)
			}
			return nil
		},
	}
	r.flags(c, cmd)
	f := cmd.Flags()
	f.StringVar(&q.user, "user", "", "whose stored rules count (default: you)")
	f.StringVar(&q.agent, "agent", "", "whose policy and workspace count")
	f.StringVar(&q.session, "session", "", "in which session")
	f.StringVar(&q.args, "args", "", "the arguments as exact JSON, instead of CALL")
	f.BoolVar(&q.asJSON, "json", false, "print JSON")
	complete(cmd, "agent", c.completing(&r, agentNames))
	return cmd
}

// offerAgents says whose policy could have counted.
func (c *cli) offerAgents(ctx context.Context, cl *client) {
	list, err := cl.agents(ctx)
	if err != nil || len(list) == 0 {
		return // what was asked is answered
	}
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = interaction.Visible(a.Name)
	}
	fmt.Fprintf(c.err, "No agent's policy counted; name one by --agent: %s\n", strings.Join(names, ", "))
}

// callArgs are the JSON arguments that a command line means.
func callArgs(args []string, exact string) (string, error) {
	switch {
	case exact != "" && len(args) == 2:
		return "", usage("give the call as CALL or by --args, not both")
	case exact != "":
		return exact, nil
	case len(args) < 2:
		return "", usage("say what the call is: CALL, or its arguments by --args")
	}
	t := permission.BuiltinTool(args[0])
	text := args[1]
	if t.Field == "" || t.Kind != permission.KindCommand && strings.HasPrefix(strings.TrimSpace(text), "{") {
		if !json.Valid([]byte(text)) {
			return "", usage("%s is no built-in tool that takes a line of text: say its arguments as JSON, such as '{\"id\": 7}'", args[0])
		}
		return text, nil
	}
	fields := map[string]string{t.Field: text}
	if method, rest, ok := strings.Cut(text, " "); ok && t.Kind == permission.KindURL {
		fields = map[string]string{"method": method, t.Field: strings.TrimSpace(rest)}
	}
	b, err := json.Marshal(fields)
	return string(b), err
}

func (c *cli) checkLine(_ *remote, _ checked, _ []string, out api.Checked) {
	c.line(c.out, c.style.ruled(out.Effect.String()+":", out.Effect), out.Reason)
}

func (c *cli) checkWhole(_ *remote, _ checked, _ []string, out api.Checked) {
	for n, line := range strings.Split(strings.TrimSuffix(out.Explanation, "\n"), "\n") {
		line = interaction.Visible(line)
		if n == 0 {
			line = c.style.ruled(line, out.Effect)
		}
		fmt.Fprintln(c.out, line)
	}
	if out.Invalid != "" {
		c.line(c.out, "  but the call would be sent back to the model:", out.Invalid)
	}
}

func (c *cli) checkSuggest(r *remote, q checked, _ []string, out api.Checked) {
	switch {
	case out.Effect != permission.Ask:
		c.line(c.out, "Nothing to suggest: the call is", out.Effect.String()+". "+out.Reason)
		return
	case len(out.SuggestedPatterns) == 0:
		c.line(c.out, "No rule can be suggested:", out.Reason)
		return
	case out.SuggestTogether:
		fmt.Fprintln(c.out, "All of these together would allow it:")
	default:
		fmt.Fprintln(c.out, "Any of these would allow it, the narrowest first:")
	}
	user := q.user
	if user == "" {
		user = "USER"
	}
	for _, p := range out.SuggestedPatterns {
		fmt.Fprintf(c.out, "  %s rules add%s %s allow %s\n", c.name, r.typed(), shellWord(user), shellWord(interaction.Visible(p)))
	}
}
