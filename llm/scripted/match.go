package scripted

import (
	"slices"
	"strings"

	"holdpoint/llm"
	"holdpoint/tool"
)

// Script is a parsed script. It is immutable.
type Script struct {
	name  string
	loop  bool
	turns []turn
}

// Name is the file that the script came from.
func (s *Script) Name() string { return s.name }

type turn struct {
	when  when
	say   string
	calls []call
}

type call struct {
	name string
	args string // a JSON object
}

// when has a turn's conditions; nil pointers are conditions that were not given.
type when struct {
	user       *string
	toolResult *resultCondition
}

type resultCondition struct {
	name     *string
	statuses []tool.Status
	contains *string
}

// place is what conditions are judged on: the end of a transcript.
type place struct {
	user     string // the newest user message
	hasUser  bool
	afterUse bool          // the last message is the user's
	results  []llm.Message // since the last assistant message
	replies  int           // assistant messages so far
}

func newPlace(transcript []llm.Message) place {
	var p place
	for _, m := range transcript {
		switch m.Role {
		case llm.RoleUser:
			p.user, p.hasUser, p.afterUse = m.Content, true, true
		case llm.RoleAssistant:
			p.results, p.afterUse = nil, false
			p.replies++
		case llm.RoleTool:
			p.results, p.afterUse = append(p.results, m), false
		case llm.RoleSystem: // says nothing about where a conversation is
		}
	}
	return p
}

func (w when) holds(p place) bool {
	if w.user != nil {
		if !p.hasUser || !matchText(*w.user, p.user) {
			return false
		}
		if w.toolResult == nil && !p.afterUse {
			return false
		}
	}
	if w.toolResult == nil {
		return true
	}
	_, found := w.result(p)
	return found
}

// result is the result that the conditions speak of, the newest where they speak of none.
func (w when) result(p place) (llm.Message, bool) {
	for _, r := range p.results {
		if w.toolResult != nil && w.toolResult.holds(r) {
			return r, true
		}
	}
	if w.toolResult == nil && len(p.results) > 0 {
		return p.results[len(p.results)-1], true
	}
	return llm.Message{}, false
}

func (c resultCondition) holds(result llm.Message) bool {
	return (c.name == nil || matchGlob(*c.name, result.ToolName)) &&
		(len(c.statuses) == 0 || slices.Contains(c.statuses, tool.Status(result.ToolStatus))) &&
		(c.contains == nil || strings.Contains(strings.ToLower(result.Content), strings.ToLower(*c.contains)))
}

// matchText compares without regard to case: a pattern with the whole, anything else with any part.
func matchText(pattern, text string) bool {
	pattern, text = strings.ToLower(pattern), strings.ToLower(text)
	if strings.Contains(pattern, "*") {
		return matchGlob(pattern, text)
	}
	return strings.Contains(text, pattern)
}

// matchGlob matches the whole text; * stands for any characters, all else for itself.
func matchGlob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == text
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}
