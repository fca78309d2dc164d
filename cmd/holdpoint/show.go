package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// show writes an interaction whole: nothing hidden, nothing cut. respondLines follow it.
func (c *cli) show(w io.Writer, it api.Interaction) {
	c.line(w, c.style.bold("Question  "), it.Title)
	c.field(w, "Id", string(it.ID))
	c.fields(w, it)
	if it.Message != "" {
		c.part(w, "Message", it.Message)
	}
	c.arguments(w, it.Request)
	if it.Explanation != "" {
		c.part(w, "Decided on each part", it.Explanation)
	}
	if it.Details != "" && !c.repeats(it.Request) {
		c.details(w, it.Details)
	}
	c.questions(w, it.Request)
	for _, r := range it.Responses {
		c.field(w, "Answered", answerText(r))
	}
}

// fields are the short facts, each on its line.
func (c *cli) fields(w io.Writer, it api.Interaction) {
	status := string(it.Status)
	if it.Settled() {
		status += ", decided, and carried out as soon as the run goes on"
	}
	c.field(w, "Status", status)
	c.field(w, "Kind", string(it.Type)+kindText(it.Kind))
	if it.Risk != "" {
		fmt.Fprintf(w, "%-10s %s\n", "Risk", c.style.risk(interaction.Visible(it.Risk), it.Risk))
	}
	c.field(w, "Tool", it.ToolName)
	c.field(w, "Agent", strings.Join(it.AgentPath, " > "))
	c.field(w, "Run", string(it.RunID)+", session "+string(it.SessionID))
	c.field(w, "For", string(it.Requester))
	c.field(w, "Reason", it.Reason)
	c.field(w, "Rule", it.MatchedRule)
	c.field(w, "Always", keepText(it.Request))
	c.field(w, "Reviewers", c.reviewers(it.Request))
	c.field(w, "Asked", it.CreatedAt.UTC().Format(time.RFC3339)+" ("+age(c.now().Sub(it.CreatedAt))+" ago)")
	c.field(w, "Deadline", c.deadline(it.Request))
	c.field(w, "Follows", string(it.LinkedTo))
	c.field(w, "Digest", it.Digest)
	if it.Base != "" {
		c.field(w, "Based on", it.Base)
	}
	if it.Status.Final() {
		c.field(w, "Ended", strings.TrimSpace(string(it.Action)+" "+it.ClosedReason)+" at "+it.ClosedAt.UTC().Format(time.RFC3339))
	}
	for _, key := range sortedKeys(it.Metadata) {
		c.field(w, "Metadata", key+"="+it.Metadata[key])
	}
}

func (c *cli) field(w io.Writer, name, value string) {
	if value != "" {
		c.line(w, fmt.Sprintf("%-10s", name), value)
	}
}

func kindText(k interaction.Kind) string {
	switch k {
	case interaction.KindOutcomeUnknown:
		return ": it may or may not have happened already"
	case interaction.KindPermission:
		return ": may it run?"
	case interaction.KindTool:
		return ": the agent asks"
	case interaction.KindResult:
		return ": it has run, and the agent waits for its output"
	case interaction.KindProgram:
		return ": a program asks whether to go on"
	default:
		return ""
	}
}

// keepText says how far an approval may be kept, and for what unless patterns are given.
func keepText(q interaction.Request) string {
	if q.MaxGrant == "" || q.MaxGrant == interaction.GrantNone {
		return ""
	}
	text := "an approval may be kept for the " + string(q.MaxGrant)
	if len(q.SuggestedPattern) > 0 {
		text += ": " + strings.Join(q.SuggestedPattern, ", ")
	}
	return text
}

func (c *cli) reviewers(q interaction.Request) string {
	who := "anyone who may review"
	if len(q.Reviewers) > 0 {
		who = strings.Join(q.Reviewers, ", ")
	}
	if q.Quorum > 1 {
		who += fmt.Sprintf("; %d approvals needed", q.Quorum)
	}
	if q.ExcludeRequester {
		who += "; not " + string(q.Requester) + ", who requested it"
	}
	return who
}

func (c *cli) deadline(q interaction.Request) string {
	if q.ExpiresAt.IsZero() {
		return "none"
	}
	then := q.OnTimeout
	if then == "" {
		then = interaction.ActionReject
	}
	return fmt.Sprintf("%s (%s); then: %s", q.ExpiresAt.UTC().Format(time.RFC3339), left(q.ExpiresAt.Sub(c.now())), then)
}

// part is a heading with foreign text below it.
func (c *cli) part(w io.Writer, name, text string) {
	fmt.Fprintf(w, "%s\n", c.style.bold(name))
	c.block(w, text)
}

// details shows what a call would do: an edit as a diff.
func (c *cli) details(w io.Writer, text string) {
	if !isDiff(text) {
		c.part(w, "What it would do", text)
		return
	}
	fmt.Fprintln(w, c.style.bold("What it would do"))
	c.diff(w, text)
}

// arguments shows what would run: each argument whole, in the order and as often as they were written.
func (c *cli) arguments(w io.Writer, q interaction.Request) {
	if len(q.ToolArgs) == 0 {
		return
	}
	args, ok := members(q.ToolArgs)
	if !ok {
		c.part(w, "Arguments, as written", string(q.ToolArgs))
		return
	}
	if len(args) == 0 {
		fmt.Fprintln(w, c.style.bold("Arguments")+" none")
	}
	for _, a := range args {
		c.part(w, "Argument "+interaction.Visible(a.name), a.text)
	}
}

// member is one argument. text is a string's text, and the JSON of anything else.
type member struct{ name, text string }

// members reads a JSON object in its own order, a name that comes twice twice. It reports false for anything that
// is not such an object.
func members(raw json.RawMessage) ([]member, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var out []member
	for dec.More() {
		name, err := dec.Token()
		key, isName := name.(string)
		var value json.RawMessage
		if err != nil || !isName || dec.Decode(&value) != nil {
			return nil, false
		}
		m := member{name: key, text: string(value)}
		var s string
		var pretty bytes.Buffer
		if value[0] == '"' && json.Unmarshal(value, &s) == nil {
			m.text = s
		} else if json.Indent(&pretty, value, "", "  ") == nil {
			m.text = pretty.String()
		}
		out = append(out, m)
	}
	_, err := dec.Token()
	return out, err == nil
}

// repeats reports whether the details say only what an argument has said.
func (c *cli) repeats(q interaction.Request) bool {
	args, _ := members(q.ToolArgs)
	return slices.ContainsFunc(args, func(m member) bool { return interaction.VisibleLines(m.text) == interaction.VisibleLines(q.Details) })
}

// questions shows what is asked beside an approval: choices, and the parts of a combined request.
func (c *cli) questions(w io.Writer, q interaction.Request) {
	if q.Type == interaction.TypeSelect {
		fmt.Fprintln(w, c.style.bold("Choices"))
		for _, o := range choices(q) {
			c.line(w, fmt.Sprintf("  %-12s", interaction.Visible(o.ID)), strings.TrimSpace(o.Label+"  "+o.Description))
		}
	}
	c.field(w, "Yes means", q.ConfirmText)
	c.field(w, "No means", q.CancelText)
	for n, part := range q.Interactions {
		c.line(w, c.style.bold(fmt.Sprintf("Question %d (%s)", n+1, part.Type)), part.Title)
		if part.Message != "" {
			c.block(w, part.Message)
		}
		c.questions(w, part)
	}
}

// choices are a select's options that choose.
func choices(q interaction.Request) []interaction.Option {
	return slices.DeleteFunc(slices.Clone(q.Options), func(o interaction.Option) bool { return o.Action != interaction.ActionAnswer })
}

func answerText(r interaction.Response) string {
	text := fmt.Sprintf("%s by %s", r.Action, r.Reviewer.ID.Named())
	if !r.RespondedAt.IsZero() {
		text += " at " + r.RespondedAt.UTC().Format(time.RFC3339)
	}
	for _, words := range []string{r.Text, strings.Join(r.Selected, ", "), r.Feedback, r.Note} {
		if words != "" {
			text += ": " + words
		}
	}
	return text
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// age is a duration in its largest unit.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

func left(d time.Duration) string {
	if d <= 0 {
		return "passed"
	}
	return "in " + age(d)
}
