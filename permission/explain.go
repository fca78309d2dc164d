package permission

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// maxExplained bounds the parts, reasons and suggestions that are written out.
const maxExplained = 40

// Explain writes a decision on a call in plain words for a terminal: the
// effect and why, the rule with where it was written or who granted it, the
// parts of a compound, the risk, who must approve, and what could be granted.
// Characters that a terminal would hide or obey are written as escapes, and
// every line but the first is indented.
func Explain(c Call, d Decision) string {
	var e explanation
	e.line("%s: %s", d.Effect, d.Reason)
	e.call(c, d)
	if d.Matched != nil {
		e.line("  rule: %s", described(*d.Matched))
	}
	e.parts(d.Parts)
	if len(d.Parts) == 0 {
		for _, r := range d.Reasons[min(1, len(d.Reasons)):min(maxExplained, len(d.Reasons))] {
			e.line("  also: %s", r.Text)
		}
	}
	for _, id := range d.Grants {
		e.line("  rests on the grant %s", id)
	}
	if d.Risk != "" {
		e.line("  risk: %s", d.Risk)
	}
	if d.Effect == Ask {
		e.line("  approval: %s", approvers(d.Approval))
		e.line("  an answer may be kept: %s", d.Approval.MaxGrant.words())
	}
	e.suggestions(d)
	return e.String()
}

// explanation collects lines, each made safe to show.
type explanation struct{ strings.Builder }

func (e *explanation) line(format string, args ...any) {
	e.WriteString(visible(fmt.Sprintf(format, args...)))
	e.WriteByte('\n')
}

// call names the tool, what it is to do, and the files that are meant.
func (e *explanation) call(c Call, d Decision) {
	name := c.Tool.fullName()
	if name == "" {
		name = "a tool without a name"
	}
	e.line("  call: %s %s", name, bounded(d.Resource, 300))
	if d.Malformed {
		e.line("  the arguments are malformed, so that no rule can allow the call")
	}
	if c.Tool.Kind == KindCommand {
		return
	}
	for _, p := range d.Paths[:min(maxExplained, len(d.Paths))] {
		if p != d.Resource {
			e.line("  path: %s", p)
		}
	}
}

func (e *explanation) parts(parts []Part) {
	for _, p := range parts[:min(maxExplained, len(parts))] {
		text := p.Reason
		if p.Rule != "" {
			text += ": " + p.Rule
		}
		e.line("  %-5s %s: %s", p.Effect, shortened(p.Text), text)
	}
	if more := len(parts) - maxExplained; more > 0 {
		e.line("  and %d more parts", more)
	}
}

func (e *explanation) suggestions(d Decision) {
	if len(d.SuggestedPatterns) == 0 {
		return
	}
	how := "could be allowed by one of"
	if d.SuggestTogether {
		how = "could be allowed by all of"
	}
	e.line("  %s:", how)
	for _, s := range d.SuggestedPatterns[:min(maxExplained, len(d.SuggestedPatterns))] {
		e.line("    %s", s)
	}
}

// described is a rule with where it stands, or whose grant it is and why.
func described(r Rule) string {
	out := fmt.Sprintf("%s %s", r.Effect, r.describe())
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if at := strings.TrimSuffix(place(r.Source), ": "); at != "" {
		note("%s", at)
	}
	if r.Source.Layer.stored() {
		note("grant %s of %s", r.ID, r.UserID)
	}
	if r.SessionID != "" {
		note("in the session %s", r.SessionID)
	}
	if r.GrantedBy != "" {
		note("granted by %s", r.GrantedBy)
	}
	if r.InteractionID != "" {
		note("in answer to %s", r.InteractionID)
	}
	if !r.ExpiresAt.IsZero() {
		note("until %s", r.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if r.MaxUses > 0 {
		note("used %d of %d times", r.Uses, r.MaxUses)
	}
	if r.Note != "" {
		note("%q", shortened(r.Note))
	}
	if len(notes) > 0 {
		out += " (" + strings.Join(notes, ", ") + ")"
	}
	return out
}

// approvers says who must approve, and by when.
func approvers(a Approval) string {
	who := "anyone who may answer"
	if len(a.Reviewers) > 0 {
		who = strings.Join(a.Reviewers, ", ")
	}
	if a.Quorum > 1 {
		who = fmt.Sprintf("%d of %s", a.Quorum, who)
	}
	if a.ExcludeRequester {
		who += ", but not the requester"
	}
	if a.Timeout > 0 {
		who += fmt.Sprintf(", within %s", a.Timeout)
		if a.OnTimeout != "" {
			who += ", else " + a.OnTimeout
		}
	}
	return who
}

func (g GrantScope) words() string {
	switch g {
	case GrantUser:
		return "for the user"
	case GrantSession:
		return "for the session"
	case GrantNone, GrantUnset:
		return "not at all"
	default:
		return "not at all"
	}
}

// bounded cuts text for people.
func bounded(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes-1]) + "…"
}

// visible writes characters that a terminal would hide or obey as escapes.
func visible(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(" ⏎ ")
		case r == '\t':
			b.WriteByte(' ')
		case r == opaqueMark:
			b.WriteRune('…')
		case oddRune(r) == "":
			b.WriteRune(r)
		case r <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}
