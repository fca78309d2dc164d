package api

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdpoint/event"
	"holdpoint/interaction"
)

// Hider takes secrets out of texts and of JSON, and says whether something was hidden. What has none stays, byte for byte.
type Hider interface {
	Text(s string) (string, bool)
	JSON(raw []byte) ([]byte, bool)
}

// hideEvent is an event as streams show it. Where configured names are those of the payload's own parts, so that it can't
// be read any more, nothing of it is shown.
func hideEvent(h Hider, e event.Event) event.Event {
	e.Payload = validJSON(e.Payload)
	if h == nil {
		return e
	}
	shown := e
	if shown.Payload, shown.Redacted = h.JSON(e.Payload); !shown.Redacted {
		return e
	}
	if _, err := event.Decode(shown); err != nil {
		if _, err := event.Decode(e); err == nil {
			shown.Payload = json.RawMessage("{}")
		}
	}
	return shown
}

// liveContext is how many bytes of a text that is being written are looked through again with each piece.
const liveContext = 1 << 10

// liveText shows the pieces of one text up to the last word that is complete, and nothing after what looks like a secret:
// the rest comes with the step. A secret that is cut over pieces is in none of them.
type liveText struct {
	turn, attempt int
	seen          int    // bytes that have come
	text          string // the end of what has come
	held          int    // bytes at the end of text that were not shown
	stopped       bool
}

// next is what may be shown once d has come; ok is false when that is nothing.
func (l *liveText) next(h Hider, d event.StepDeltaData) (shown event.StepDeltaData, redacted, ok bool) {
	if d.Turn != l.turn || d.Attempt != l.attempt || d.Offset == 0 {
		*l = liveText{turn: d.Turn, attempt: d.Attempt}
	}
	l.stopped = l.stopped || d.Offset != l.seen // what came before is not known
	if l.stopped {
		return d, false, false
	}
	l.seen, l.held, l.text = l.seen+len(d.Text), l.held+len(d.Text), l.text+d.Text
	held := l.text[len(l.text)-l.held:]
	shown = event.StepDeltaData{Turn: d.Turn, Attempt: d.Attempt, Offset: l.seen - l.held}
	complete := strings.LastIndexFunc(held, func(r rune) bool { return unicode.IsSpace(r) || r > unicode.MaxASCII })
	if complete >= 0 {
		_, size := utf8.DecodeRuneInString(held[complete:])
		complete += size
	}
	complete = max(complete, 0)
	if _, found := h.Text(l.text); found || l.held-complete > liveContext {
		l.stopped, shown.Text = true, interaction.Redacted
		return shown, true, true
	}
	shown.Text = held[:complete]
	l.held -= complete
	l.text = l.text[max(0, len(l.text)-l.held-liveContext):]
	return shown, false, complete > 0
}
