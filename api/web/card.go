package web

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/permission"
)

// path escapes an id as a part of a URL's path.
func path(id any) string {
	switch id := id.(type) {
	case interaction.ID:
		return url.PathEscape(string(id))
	case interaction.RunID:
		return url.PathEscape(string(id))
	case interaction.SessionID:
		return url.PathEscape(string(id))
	case string:
		return url.PathEscape(id)
	default:
		return ""
	}
}

// block is a piece of what would run, whole.
type block struct {
	Title string
	Kind  string // "shell", "diff" or "text"
	Text  string
	Diff  []diffLine
	Size  int
}

// card is an interaction as it is shown and answered.
type card struct {
	page
	api.Interaction
	Blocks    []block
	Raw       string // the arguments as they came, where a diff shows what they would do
	Fields    []field
	Buttons   []button
	Parts     []part
	Why       *api.Checked
	Decided   string
	Approvals int
	Problem   *api.Problem
	Typed     url.Values // what was typed into a form that was refused
	AnswerID  string     // of the answer that this form makes, so that sending it twice answers once
	Inline    bool       // it stands in a run
	Next      interaction.ID
	Steps     []item
}

// button is one way to answer.
type button struct {
	ID, Label, Hint, Key, Class string
	Dangerous, NeedsSeen        bool
}

// part is a part of a compound command and what was decided on it.
type part struct{ Effect, Text string }

func (v *view) card(it api.Interaction) *card {
	c := &card{page: v.page(interaction.Visible(it.Title), "inbox"), Interaction: it, AnswerID: "web-" + rand.Text(), Typed: v.r.PostForm}
	c.Blocks = blocksOf(it)
	if len(c.Blocks) > 0 && c.Blocks[0].Kind == "diff" {
		c.Raw = pretty(it.ToolArgs)
	}
	c.Fields = fieldsOf(it.ToolArgs)
	c.Parts = partsOf(it.Explanation)
	c.Buttons = buttonsOf(it)
	for _, r := range it.Responses {
		if r.Action == interaction.ActionApprove {
			c.Approvals++
		}
	}
	c.Decided = decided(it)
	return c
}

// Dangerous reports whether approving takes a second, deliberate act.
func (c *card) Dangerous() bool { return risky(c.Interaction) }

func risky(it api.Interaction) bool {
	return it.Risk == "critical" ||
		slices.ContainsFunc(it.Options, func(o interaction.Option) bool { return o.Action == interaction.ActionApprove && o.Dangerous })
}

// Open reports whether it can still be answered.
func (c *card) Open() bool { return !c.Status.Final() }

// Offers reports whether there is an option of an action.
func (c *card) Offers(action string) bool {
	return slices.ContainsFunc(c.Options, func(o interaction.Option) bool { return string(o.Action) == action })
}

// Choices are a select's options that choose.
func (c *card) Choices() []interaction.Option { return choices(c.Request) }

// May reports whether an approval may be kept that widely.
func (c *card) May(scope string) bool {
	return c.MaxGrant == interaction.GrantUser || scope == "session" && c.MaxGrant == interaction.GrantSession
}

// Needed is how many must approve.
func (c *card) Needed() int { return c.Request.QuorumNeeded() }

// OnTime is what happens at the deadline.
func (c *card) OnTime() string {
	if c.OnTimeout == "" {
		return string(interaction.ActionReject)
	}
	return string(c.OnTimeout)
}

// Was is what was typed into a field of a form that was refused.
func (c *card) Was(name string) string { return c.Typed.Get(name) }

// Ticked reports whether a value was chosen in a form that was refused.
func (c *card) Ticked(name, value string) bool { return slices.Contains(c.Typed[name], value) }

func choices(q interaction.Request) []interaction.Option {
	return slices.DeleteFunc(slices.Clone(q.Options), func(o interaction.Option) bool { return o.Action != interaction.ActionAnswer })
}

// blocksOf are the pieces of a request that a person must see: what it would do, and every argument.
func blocksOf(it api.Interaction) []block {
	if isDiff(it.Details) {
		return []block{{Title: "Change", Kind: "diff", Diff: diff(it.Details), Size: len(it.Details)}}
	}
	var out []block
	list, ok := members(it.ToolArgs)
	if !ok && len(it.ToolArgs) > 0 {
		out = append(out, block{Title: "Arguments, as written", Kind: "text", Text: string(it.ToolArgs), Size: len(it.ToolArgs)})
	}
	repeated := it.Details == ""
	for _, m := range list {
		b := block{Title: m.Name, Kind: "text", Text: m.Text, Size: len(m.Text)}
		if it.ToolName == "bash" && m.Name == "command" {
			b.Kind = "shell"
		}
		repeated = repeated || interaction.VisibleLines(m.Text) == interaction.VisibleLines(it.Details)
		out = append(out, b)
	}
	if !repeated {
		title := "What it would do"
		if it.Kind == interaction.KindResult {
			title = "Output that waits"
		}
		out = append([]block{{Title: title, Kind: "text", Text: it.Details, Size: len(it.Details)}}, out...)
	}
	return out
}

func pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// partsOf reads what was decided on each part of a compound out of its explanation.
func partsOf(explanation string) (out []part) {
	for l := range strings.SplitSeq(explanation, "\n") {
		for _, e := range []permission.Effect{permission.Allow, permission.Deny, permission.Ask} {
			if rest, ok := strings.CutPrefix(l, "  "+e.String()+strings.Repeat(" ", 6-len(e.String()))); ok {
				out = append(out, part{e.String(), rest})
			}
		}
	}
	return out
}

// buttonsOf are the answers that a request offers, in its order.
func buttonsOf(it api.Interaction) (out []button) {
	for _, o := range it.Options {
		b := button{ID: o.ID, Label: o.Label, Hint: o.Description, Dangerous: o.Dangerous}
		switch o.Action {
		case interaction.ActionApprove:
			b.Key, b.Class, b.NeedsSeen, b.Dangerous = "a", "primary", true, risky(it)
		case interaction.ActionReject, interaction.ActionWithhold:
			b.Key, b.Class = "r", "reject"
		case interaction.ActionRetry:
			b.Key = "t"
		case interaction.ActionSkip:
			b.Key = "s"
		case interaction.ActionTerminate:
			b.Class, b.Dangerous = "danger", true
		case interaction.ActionModifyArgs, interaction.ActionAnswer, interaction.ActionProvideInfo, interaction.ActionRedact:
			continue // they have forms of their own
		default:
			continue // nothing that could be carried out from here
		}
		out = append(out, b)
	}
	return out
}

// decided says in a sentence how it ended.
func decided(it api.Interaction) string {
	var by []string
	for _, r := range it.Responses {
		if name := r.Reviewer.ID.Named(); (r.Action == it.Action || !it.Status.Final()) && !slices.Contains(by, name) {
			by = append(by, name)
		}
	}
	switch {
	case it.Status == interaction.StatusAnswered && len(by) > 0:
		return past(it.Action) + " by " + strings.Join(by, ", ")
	case it.Status == interaction.StatusAnswered:
		return past(it.Action)
	case it.Status == interaction.StatusExpired:
		return "Deadline passed: " + past(it.Action)
	case it.Status == interaction.StatusCancelled:
		return "Cancelled: " + it.ClosedReason
	case len(by) > 0 && !it.Status.Final() && (!it.SubmittedAt.IsZero() || it.Responses[len(it.Responses)-1].Action == interaction.ActionApprove):
		return past(it.Responses[len(it.Responses)-1].Action) + " by " + strings.Join(by, ", ")
	}
	return ""
}

func past(a interaction.Action) string {
	switch a {
	case interaction.ActionApprove:
		return "Approved"
	case interaction.ActionModifyArgs:
		return "Approved with changes"
	case interaction.ActionReject:
		return "Rejected"
	case interaction.ActionRetry:
		return "Sent back to think again"
	case interaction.ActionSkip:
		return "Skipped"
	case interaction.ActionTerminate:
		return "Run stopped"
	case interaction.ActionRedact:
		return "Released with another text"
	case interaction.ActionWithhold:
		return "Withheld"
	case interaction.ActionAnswer, interaction.ActionProvideInfo, interaction.ActionCustom:
		return "Answered"
	case interaction.ActionDelegate:
		return "Delegated"
	default:
		return words(a)
	}
}
