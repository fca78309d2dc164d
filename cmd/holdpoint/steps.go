package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/llm"
)

const stepsLong = `Shows a run's transcript: who said what, what each tool call asked for and what was decided on it, by which rule
or person, results folded to their first lines, and the tokens of each model call.

RUN is a run's id, a session's id (which means its newest run), or the beginning of either that fits one only.`

// transcript is what steps shows.
type transcript struct {
	Run   agent.Run `json:"run"`
	Items []step    `json:"items"`
}

// step is one message, with what was decided on each call that it makes.
type step struct {
	llm.Step
	Decisions []decision `json:"decisions,omitempty"`
}

// decision is what became of a call before it ran, or did not.
type decision struct {
	CallID interaction.CallID `json:"tool_call_id"`
	Effect string             `json:"effect"` // when it was taken in: allow, ask or deny
	Reason string             `json:"reason,omitempty"`
	Asked  []asked            `json:"asked,omitempty"`
	Denied string             `json:"denied,omitempty"` // by a rule, when it was to run
}

// asked is a question about a call, and its answer.
type asked struct {
	ID        interaction.ID         `json:"interaction_id"`
	Title     string                 `json:"title"`
	Status    interaction.Status     `json:"status"`
	Action    interaction.Action     `json:"action,omitempty"`
	Reason    string                 `json:"reason,omitempty"` // why it was closed without an answer
	Responses []interaction.Response `json:"responses,omitempty"`
	ArgsAfter json.RawMessage        `json:"args_after,omitempty"`
}

func stepsCommand(c *cli) *cobra.Command {
	var r remote
	var asJSON, full bool
	cmd := &cobra.Command{
		Use: "steps RUN", Short: "Show a run's transcript", Long: stepsLong, Args: cobra.ExactArgs(1),
		ValidArgsFunction: c.completing(&r, onlyFirst(runIDs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			t, err := cl.transcript(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(t)
			}
			c.showTranscript(t, full)
			return nil
		},
	}
	r.flags(c, cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&full, "full", false, "fold nothing")
	return cmd
}

// transcript reads a run's steps, and from its record what was decided.
func (cl *client) transcript(ctx context.Context, ref string) (transcript, error) {
	run, err := cl.findRun(ctx, ref)
	if err != nil {
		return transcript{}, err
	}
	list, err := cl.steps(ctx, run.ID)
	if err != nil {
		return transcript{}, err
	}
	if list.NextPageToken != "" {
		return transcript{}, fmt.Errorf("run %s has more than %d steps: page through /v1/runs/%s/steps", run.ID, len(list.Items), run.ID)
	}
	events, err := cl.record(ctx, run.ID)
	if err != nil {
		return transcript{}, err
	}
	decided := decisions(events)
	t := transcript{Run: run, Items: []step{}}
	for _, s := range list.Items {
		item := step{Step: s}
		for _, call := range s.Message.ToolCalls {
			if d := decided[call.ID]; d != nil {
				item.Decisions = append(item.Decisions, *d)
			}
		}
		t.Items = append(t.Items, item)
	}
	return t, nil
}

// decisions reads off a record what became of each call.
func decisions(events []event.Event) map[interaction.CallID]*decision {
	out := map[interaction.CallID]*decision{}
	of := func(id interaction.CallID) *decision {
		if out[id] == nil {
			out[id] = &decision{CallID: id}
		}
		return out[id]
	}
	for _, e := range events {
		data, err := event.Decode(e)
		if err != nil {
			continue // erased, or of a newer version
		}
		switch d := data.(type) {
		case event.StepCompletedData:
			for _, call := range d.ToolCalls {
				of(call.ID).Effect, of(call.ID).Reason = call.Effect, call.Reason
			}
		case interaction.Request:
			for _, id := range append([]interaction.CallID{d.ToolCallID}, d.SharedCallIDs...) {
				of(id).Asked = append(of(id).Asked, asked{ID: d.ID, Title: d.Title, Status: interaction.StatusPending})
			}
		case event.InteractionResponseData:
			for _, call := range out {
				call.answered(d)
			}
		case event.ToolAuthDeniedData:
			if of(d.ToolCallID).Effect != "deny" {
				of(d.ToolCallID).Denied = d.Reason
			}
		}
	}
	return out
}

func (d *decision) answered(a event.InteractionResponseData) {
	for n := range d.Asked {
		if q := &d.Asked[n]; q.ID == a.InteractionID {
			q.Status, q.Action, q.Reason, q.Responses, q.ArgsAfter = a.Status, a.Action, a.Reason, a.Responses, a.ArgsAfter
		}
	}
}

// How much of a long text is shown unless all of it is wanted.
const (
	foldedLines = 6
	foldedArgs  = 300
)

func (c *cli) showTranscript(t transcript, full bool) {
	c.line(c.out, c.style.bold("run"), fmt.Sprintf("%s of agent %s, session %s: %s", t.Run.ID, t.Run.Agent, t.Run.SessionID, t.Run.Status))
	var total llm.Usage
	models := 0
	for _, s := range t.Items {
		c.showStep(s, full)
		if s.Message.Role == llm.RoleAssistant {
			models++
		}
		total.Input, total.Output = total.Input+s.Usage.Input, total.Output+s.Usage.Output
	}
	fmt.Fprintf(c.out, "%d steps, %d model calls%s\n", len(t.Items), models, tokens(total))
}

func (c *cli) showStep(s step, full bool) {
	m := s.Message
	head := c.style.bold(fmt.Sprintf("%d %s", s.Sequence, interaction.Visible(string(m.Role))))
	switch m.Role {
	case llm.RoleTool:
		c.line(c.out, head, strings.TrimSpace(m.ToolName+": "+m.ToolStatus))
	case llm.RoleAssistant:
		refused := ""
		if m.Refusal {
			refused = ", the model declined"
		}
		c.line(c.out, head, fmt.Sprintf("turn %d%s%s", s.Turn, tokens(s.Usage), refused))
	default:
		c.line(c.out, head, "")
	}
	if m.Content != "" {
		c.block(c.out, folded(m.Content, m.Role == llm.RoleTool && !full))
	}
	for _, call := range m.ToolCalls {
		c.showCall(call, s.Decisions, full)
	}
}

// folded leaves the first lines of a long text, and says what is missing.
func folded(text string, fold bool) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if !fold || len(lines) <= foldedLines+1 {
		return text
	}
	return strings.Join(lines[:foldedLines], "\n") + fmt.Sprintf("\n(%d more lines; --full shows them)", len(lines)-foldedLines)
}

func tokens(u llm.Usage) string {
	if u == (llm.Usage{}) {
		return ""
	}
	return fmt.Sprintf(", tokens: %d in, %d out", u.Input, u.Output)
}

// showCall writes a call, and below it what was decided.
func (c *cli) showCall(call llm.ToolCall, decided []decision, full bool) {
	args := interaction.Visible(call.Args)
	if runes := []rune(args); !full && len(runes) > foldedArgs {
		args = string(runes[:foldedArgs]) + fmt.Sprintf(" (%d more characters; --full shows them)", len(runes)-foldedArgs)
	}
	c.line(c.out, "  "+c.style.bold(">"), call.Name+" "+args)
	for _, d := range decided {
		if d.CallID != call.ID {
			continue
		}
		c.line(c.out, "    "+c.style.effect(d.Effect), d.Reason)
		for _, q := range d.Asked {
			c.line(c.out, "    "+c.style.bold("="), interaction.Visible(shortID(q.ID))+" "+q.text())
		}
		if d.Denied != "" {
			c.line(c.out, "    "+c.style.red("denied"), "when it was to run: "+d.Denied)
		}
	}
}

// effect colours a decision.
func (s style) effect(effect string) string {
	text := interaction.Visible(orDash(effect))
	switch effect {
	case "allow":
		return s.green(text)
	case "deny":
		return s.red(text)
	}
	return s.yellow(text)
}

// text says what was answered.
func (q asked) text() string {
	text := string(q.Status)
	for _, r := range q.Responses {
		text += ": " + answerText(r)
	}
	if len(q.Responses) == 0 && q.Action != "" {
		text += ": " + string(q.Action)
	}
	if q.Reason != "" {
		text += ": " + q.Reason
	}
	if len(q.ArgsAfter) > 0 {
		text += "; changed to " + string(q.ArgsAfter)
	}
	return text
}
