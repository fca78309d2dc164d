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
	live string // what of the present step was shown already
	open bool   // the line is not ended yet
	turn int
	try  int
}

// end finishes a line of live text.
func (v *render) end() {
	if v.open {
		fmt.Fprintln(v.c.out)
	}
	v.open = false
}

func (v *render) line(mark, format string, args ...any) {
	v.end()
	fmt.Fprintf(v.c.out, "%s %s\n", mark, interaction.Visible(fmt.Sprintf(format, args...)))
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
	case event.ToolAuthDeniedData:
		v.line(v.c.style.red("x"), "%s was denied: %s", d.ToolName, d.Reason)
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
	fmt.Fprint(v.c.out, interaction.VisibleLines(d.Text))
	v.live += d.Text
	v.open = true
}

func (v *render) step(d event.StepCompletedData) {
	switch d.Role {
	case "assistant":
		v.assistant(d)
	case "tool":
		v.end()
		fmt.Fprintf(v.c.out, "%s %s\n", v.mark(d.Status), interaction.Visible(d.ToolName+": "+d.Status))
		v.c.block(v.c.out, head(d.Content))
	case "user":
		v.line(v.c.style.bold("user"), "%s", d.Content)
	}
}

func (v *render) assistant(d event.StepCompletedData) {
	rest, continues := strings.CutPrefix(d.Content, v.live)
	switch {
	case v.open && continues && v.live != "":
		fmt.Fprint(v.c.out, interaction.VisibleLines(rest))
		v.end()
	case d.Content != "":
		v.end()
		fmt.Fprintln(v.c.out, interaction.VisibleLines(d.Content))
	}
	v.live = ""
	for _, call := range d.ToolCalls {
		v.line(v.c.style.bold(">"), "%s %s  %s", call.Name, call.Args, why(call))
	}
}

func why(call event.ToolCallData) string {
	if call.Reason == "" {
		return "[" + call.Effect + "]"
	}
	return "[" + call.Effect + ": " + call.Reason + "]"
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
