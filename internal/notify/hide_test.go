package notify

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/internal/redact"
)

const planted = "ghp_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3"

// withSecrets are requests that each have a secret somewhere.
func withSecrets() map[string]interaction.Interaction {
	out := map[string]interaction.Interaction{}
	for name, change := range map[string]func(r *interaction.Request){
		"title":    func(r *interaction.Request) { r.Title = "Run bash: echo " + planted },
		"details":  func(r *interaction.Request) { r.Details = "+ token " + planted },
		"argument": func(r *interaction.Request) { r.ToolArgs = json.RawMessage(`{"command":"echo ` + planted + `"}`) },
		"named": func(r *interaction.Request) {
			r.ToolArgs = json.RawMessage(`{"a":[{"userPin":"` + planted[5:] + `"}]}`)
		},
		"a part": func(r *interaction.Request) {
			r.Interactions = []interaction.Request{{ID: "p", Digest: r.Digest, Message: "use " + planted, Options: []interaction.Option{{ID: "approve", Action: interaction.ActionApprove}}}}
		},
		"message":       func(r *interaction.Request) { r.Message = "use " + planted },
		"earlier twice": func(r *interaction.Request) { r.ToolArgs = json.RawMessage(`{"pin":"` + planted[5:] + `","pin":""}`) },
	} {
		i := request("What it does")
		change(&i.Request)
		out[name] = i
	}
	return out
}

func TestWhereSecretsAreHiddenNothingCanBeAnswered(t *testing.T) {
	t.Parallel()
	rules := redact.New("pin")
	s := NewSlack(SlackConfig{Channel: "C1", Hider: rules})
	for name, i := range withSecrets() {
		digest, args := i.Request.Digest, string(i.Request.ToolArgs)
		m := Message{Kind: agent.NoticeOpened, Interaction: i}
		blocks, summary := s.blocks(m)
		raw, err := json.Marshal(blocks)
		if err != nil || strings.Contains(string(raw)+summary, planted[5:]) || strings.Contains(string(raw), `"button"`) || !strings.Contains(string(raw), "can't be answered here") {
			t.Errorf("Slack, %s: %v %s", name, err, raw)
		}
		raw, err = m.body("", rules)
		if err != nil || strings.Contains(string(raw), planted[5:]) || !strings.Contains(string(raw), `"redacted":true`) ||
			strings.Contains(string(raw), digest) || strings.Contains(string(raw), `"approve"`) {
			t.Errorf("webhook, %s: %v %s", name, err, raw)
		}
		if i.Request.Digest != digest || string(i.Request.ToolArgs) != args {
			t.Errorf("%s: what is asked was changed itself", name)
		}
		i.Status, i.Action = interaction.StatusAnswered, interaction.ActionReject
		closed, _ := s.blocks(Message{Kind: agent.NoticeClosed, Interaction: i})
		if raw, _ := json.Marshal(closed); strings.Contains(string(raw), planted[5:]) {
			t.Errorf("closed, %s: %s", name, raw)
		}
	}
	whole := Message{Kind: agent.NoticeOpened, Interaction: request("What it does")}
	with, _ := whole.body("", rules)
	without, _ := whole.body("", none{})
	if !slices.Equal(with, without) {
		t.Errorf("without secrets the body differs:\n%s\n%s", with, without)
	}
}

func TestACallbackHasArgumentsWholeOrNone(t *testing.T) {
	t.Parallel()
	for args, redacted := range map[string]bool{`{"command":"make"}`: false, `{"command":"echo ` + planted + `"}`: true, `{"password":"hunter22"}`: true} {
		m := Message{Kind: agent.NoticeDecided, Run: agent.Run{Status: agent.RunCompleted,
			Decision: &agent.Decision{Status: agent.DecisionApproved, Args: json.RawMessage(args)}}}
		raw, err := m.body("", redact.New())
		if err != nil || strings.Contains(string(raw), `"redacted":true`) != redacted || strings.Contains(string(raw), `"args"`) == redacted || strings.Contains(string(raw), redact.Mark) {
			t.Errorf("%s: %v %s", args, err, raw)
		}
	}
}
