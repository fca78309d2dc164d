package main

import (
	"fmt"
	"strings"

	"holdpoint/event"
	"holdpoint/interaction"
)

// maxResultLines is how much of a tool's result the stream shows; the transcript has it whole.
const maxResultLines = 20

// render writes events as readable lines. Live text is shown as it comes where someone watches.
type render struct {
	c    *cli
	text *edged // live text that is being written
	live string // what of the present step was shown already
	turn int
	try  int
	// calls has the arguments of the calls whose results are to come.
	calls map[interaction.CallID]string
}

// end finishes a line of live text.
func (v *render) end() {
	if v.text != nil {
		v.text.end()
	}
	v.text = nil
}

func (v *render) line(head, format string, args ...any) {
	v.end()
	v.c.line(v.c.out, head, fmt.Sprintf(format, args...))
}

// event writes one event. Interactions and the run's end are the caller's.
func (v *render) event(e event.Event) {
	data, err := event.Decode(e)
	if err != nil {
		v.line("!", "%v", err)
		return
	}
	switch d := data.(type) {
	case event.RunStartedData:
		v.line(v.c.style.bold("run"), "%s of agent %s started in session %s", e.RunID, d.Agent, d.SessionID)
	case event.StepDeltaData:
		v.delta(d)
	case event.StepCompletedData:
		v.step(d)
	case event.InteractionResponseData:
		v.answered(d)
	case event.HoldData:
		v.held(e.Type, "the run", d.By, d.Note)
	case event.ToolHoldData:
		v.toolHeld(e.Type, d)
	case event.ToolAuthDeniedData:
		v.line(v.c.style.red("x"), "%s was denied: %s", d.ToolName, d.Reason)
	case event.StageData:
		mark := v.c.style.bold("#")
		if e.Type == event.StageSkipped {
			mark = v.c.style.yellow("#")
		}
		v.line(mark, "%s", d.Describe(e.Type))
	case event.ErrorData:
		v.line(v.c.style.red("!"), "%s (%s)", d.Message, d.Code)
	}
}

// delta shows live text as it comes, at a terminal.
func (v *render) delta(d event.StepDeltaData) {
	if v.c.width == 0 {
		return
	}
	if d.Turn != v.turn || d.Attempt != v.try {
		v.end()
		v.turn, v.try, v.live = d.Turn, d.Attempt, ""
	}
	if d.Offset != len(v.live) { // a piece was missed; the whole step comes at its end
		return
	}
	if v.text == nil {
		v.line(v.c.style.bold("agent"), "")
		v.text = &edged{c: v.c, w: v.c.out}
	}
	v.text.write(d.Text)
	v.live += d.Text
}

func (v *render) step(d event.StepCompletedData) {
	switch d.Role {
	case "assistant":
		v.assistant(d)
	case "tool":
		v.line(v.mark(d.Status), "%s: %s %s", d.Status, d.ToolName, v.calls[d.ToolCallID])
		delete(v.calls, d.ToolCallID)
		v.c.block(v.c.out, head(d.Content))
	case "user":
		v.line(v.c.style.bold("user"), "%s", d.Content)
	}
}

func (v *render) assistant(d event.StepCompletedData) {
	rest, continues := strings.CutPrefix(d.Content, v.live)
	switch {
	case v.text != nil && continues:
		v.text.write(rest)
		v.end()
	case d.Content != "":
		v.line(v.c.style.bold("agent"), "")
		v.c.block(v.c.out, d.Content)
	}
	v.live = ""
	if v.calls == nil {
		v.calls = map[interaction.CallID]string{}
	}
	for _, call := range d.ToolCalls {
		v.calls[call.ID] = string(call.Args)
		v.line(v.c.style.bold(">"), "%s %s  %s", call.Name, call.Args, why(call))
	}
}

func why(call event.ToolCallData) string {
	if call.Reason == "" {
		return "[" + call.Effect + "]"
	}
	return "[" + call.Effect + ": " + call.Reason + "]"
}

// held tells that a run or a question stands still, or goes on.
func (v *render) held(t event.Type, what string, by interaction.PrincipalID, note string) {
	text := what + " goes on"
	if t == event.RunPaused || t == event.ToolPaused {
		text = what + " is paused"
	}
	if by != "" {
		text += ", by " + string(by)
	}
	if note != "" {
		text += ": " + note
	}
	v.line(v.c.style.yellow("~"), "%s", text)
}

// toolHeld tells the same of a question, or of a call that runs.
func (v *render) toolHeld(t event.Type, d event.ToolHoldData) {
	switch {
	case d.InteractionID != "":
		v.held(t, "the question "+shortID(d.InteractionID), d.By, d.Note)
	case t == event.ToolPaused && d.How == event.HowBoundary:
		v.line(v.c.style.yellow("~"), "the call %s runs on to its end, where the pause holds it", d.ToolCallID)
	default:
		v.held(t, "the call "+string(d.ToolCallID)+", which runs,", d.By, d.Note)
	}
}

func (v *render) mark(status string) string {
	switch status {
	case "success":
		return v.c.style.green("<")
	default:
		return v.c.style.yellow("<")
	}
}

func (v *render) answered(d event.InteractionResponseData) {
	text := string(d.Status)
	if n := len(d.Responses); n > 0 {
		text += ": " + answerText(d.Responses[n-1])
	} else if d.Action != "" {
		text += ": " + string(d.Action)
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	v.line(v.c.style.bold("="), "%s %s", shortID(d.InteractionID), text)
	if len(d.ArgsAfter) > 0 {
		v.line(" ", "it runs with %s", d.ArgsAfter)
	}
}

// head is the beginning of a long text, with a word on what is left out.
func head(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) <= maxResultLines {
		return text
	}
	return strings.Join(lines[:maxResultLines], "\n") + fmt.Sprintf("\n(%d more lines)", len(lines)-maxResultLines)
}

// number is a count with its noun.
func number(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
