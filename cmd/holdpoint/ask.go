package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/interaction"
)

// The exit codes of ask, beside those of every command.
const (
	exitRefused   = 3 // by a person or a rule
	exitWithdrawn = 4
	exitExpired   = 5
	exitPending   = 6
)

const askLong = `Asks people whether to go on, and waits for their decision: holdpoint ask 'Deploy?' && ./deploy.sh

Rules decide at once where they allow or deny; --tool and --args say what they decide on. With --key, asking again (after a
crash, from another machine) attaches to the same question, whatever became of it. What was approved goes to stdout where
--args were given: a reviewer may have changed it.

Exit codes: 0 approved, 1 error, 2 usage, 3 rejected by a person or denied by a rule, 4 withdrawn, 5 nobody decided in
time, 6 not decided when --wait was over, 130 interrupted (the question stays).`

// askFlags are what ask was told beside the question.
type askFlags struct {
	key, args, details string
	wait               time.Duration
	json               bool
}

func askCommand(c *cli) *cobra.Command {
	var r remote
	var f askFlags
	var body api.AskApproval
	var metadata map[string]string
	cmd := &cobra.Command{
		Use: "ask QUESTION", Short: "Ask people whether a program may go on", Long: askLong, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body.Title, body.Metadata = args[0], metadata
			if err := f.into(&body); err != nil {
				return err
			}
			if !cmd.Flags().Changed("wait") {
				f.wait = -1
			}
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			return c.ask(cmd.Context(), cl, &r, body, f)
		},
	}
	r.flags(c, cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.key, "key", "", "asking again with the same key attaches to the same question")
	spanVar(cmd, &f.wait, "wait", 0, "how long to wait for the decision, 0 not at all (until it is decided)")
	fl.BoolVar(&f.json, "json", false, "print what became of it as JSON")
	fl.StringVar(&body.Tool, "tool", "", "the name by which rules decide")
	fl.StringVar(&f.args, "args", "", "what would be done, a JSON object on which rules decide")
	fl.StringVar(&body.Policy, "policy", "", "the policy that decides")
	fl.StringVar(&body.Message, "message", "", "what a reviewer should know")
	fl.StringVar(&f.details, "details", "", "file with what would be done in full, such as a diff")
	fl.StringVar(&body.Risk, "risk", "", "low, medium, high or critical")
	fl.StringArrayVar(&body.Reviewers, "reviewer", nil, "who may answer, a person or group:NAME; may be repeated")
	countVar(cmd, &body.Quorum, "quorum", "how many must approve (default 1, or what a rule says)")
	fl.BoolVar(&body.ExcludeRequester, "exclude-requester", false, "you yourself may not answer")
	endVar(cmd, &body.Timeout, "timeout", "after which the question is closed, such as 24h or 7d")
	fl.StringVar(&body.UserID, "user", "", "for whom; another than yourself needs an admin's token")
	fl.StringToStringVar(&metadata, "metadata", nil, "NAME=VALUE that is shown with the question; may be repeated")
	_ = cmd.MarkFlagFilename("details")
	return cmd
}

// into puts what flags say in a form of their own into the body.
func (f *askFlags) into(body *api.AskApproval) error {
	if f.args != "" {
		if err := interaction.Strict([]byte(f.args), &map[string]any{}); err != nil {
			return usage("--args must be a JSON object: %v", err)
		}
		body.Args = json.RawMessage(f.args)
	}
	if f.details != "" {
		text, err := os.ReadFile(f.details)
		if err != nil {
			return fmt.Errorf("the details can't be read: %w", err)
		}
		body.Details = string(text)
	}
	return nil
}

// ask asks, waits, and turns the decision into an exit code.
func (c *cli) ask(ctx context.Context, cl *client, r *remote, body api.AskApproval, f askFlags) error {
	key := f.key
	if key == "" {
		key = uuid.New().String()
	}
	var a api.ApprovalView
	if _, err := cl.do(ctx, call{method: http.MethodPost, path: "/v1/approvals", body: body,
		header: map[string]string{"Idempotency-Key": key}}, &a); err != nil {
		return err
	}
	a, err := c.awaitApproval(ctx, cl, r, a, f.wait)
	if err != nil {
		return err
	}
	return c.approvalEnd(a, f)
}

// pollWait is how long one long-poll takes at most.
const pollWait = 30 * time.Second

// openPatience is how long past its own patience a client waits for the question to be open, or decided by a rule.
const openPatience = 15 * time.Second

// awaitApproval polls until it is decided or patience, which is without bound below 0, is over. A bridge that is away for
// a while is waited for.
func (c *cli) awaitApproval(ctx context.Context, cl *client, r *remote, a api.ApprovalView, patience time.Duration) (api.ApprovalView, error) {
	until := c.now().Add(patience)
	told, away := false, false
	for a.Status == api.ApprovalPending {
		wait := pollWait
		if patience >= 0 {
			wait = min(wait, until.Sub(c.now()))
		}
		if a.InteractionID != "" && !told {
			told = true
			fmt.Fprintf(c.err, "Waits for people as %s: %s inbox%s %s\n", a.ApprovalID, c.name, r.typed(), a.InteractionID)
		}
		opening := a.InteractionID == "" && c.now().Before(until.Add(openPatience))
		if wait <= 0 && !opening {
			return a, nil
		}
		if !told { // the question is about to be there, and who asked without waiting wants to name it
			wait = max(min(wait, time.Second), 200*time.Millisecond)
		}
		_, err := cl.do(ctx, call{method: http.MethodGet, path: "/v1/approvals/" + string(a.ApprovalID), query: url.Values{"wait": {wait.String()}}}, &a)
		switch {
		case err == nil:
			away = false
		case ctx.Err() != nil:
			fmt.Fprintf(c.err, "The question %s stays: ask again with the same --key, or withdraw it.\n", a.ApprovalID)
			return a, &exit{code: exitInterrupted}
		case !passing(err):
			return a, err
		case !away:
			away = true
			fmt.Fprintf(c.err, "holdpoint: trying again until the bridge is back: %s\n", interaction.Visible(err.Error()))
			fallthrough
		default:
			sleep(ctx, time.Second)
		}
	}
	return a, nil
}

// approvalEnd says what became of it.
func (c *cli) approvalEnd(a api.ApprovalView, f askFlags) error {
	if f.json {
		if err := c.printJSON(a); err != nil {
			return err
		}
	} else {
		text := string(a.Status)
		if len(a.By) > 0 {
			text += " by " + strings.Trim(fmt.Sprint(a.By), "[]")
		}
		if a.Reason != "" {
			text += ": " + a.Reason
		}
		c.line(c.err, "holdpoint:", text)
		if a.Status == agent.DecisionApproved && len(a.Args) > 0 {
			fmt.Fprintln(c.out, string(plainJSON(a.Args)))
		}
	}
	switch a.Status {
	case agent.DecisionApproved:
		return nil
	case agent.DecisionRejected, agent.DecisionDenied:
		return &exit{code: exitRefused}
	case api.ApprovalCancelled:
		return &exit{code: exitWithdrawn}
	case agent.DecisionExpired:
		return &exit{code: exitExpired}
	case api.ApprovalPending:
		return &exit{code: exitPending}
	default:
		return fmt.Errorf("the bridge says %q, which is no decision: nothing was approved", a.Status)
	}
}
