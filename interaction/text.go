package interaction

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxIDBytes bounds the ids that senders choose; a run remembers them.
const MaxIDBytes = 200

// checkTexts checks the words in a response. They reach models, logs and terminals, so they may hold no control
// characters but tab and line end.
func checkTexts(r Response) error {
	for _, id := range []struct{ field, value string }{
		{"id", string(r.ID)}, {"args_ref", string(r.ArgsRef)}, {"reviewer.id", string(r.Reviewer.ID)},
	} {
		if len(id.value) > MaxIDBytes {
			return refuse(CodeInvalid, id.field, "has %d bytes; at most %d are taken", len(id.value), MaxIDBytes)
		}
		if strings.ContainsFunc(id.value, unicode.IsControl) {
			return refuse(CodeInvalid, id.field, "has a control character; use letters, digits and punctuation")
		}
	}
	for _, t := range []struct {
		field, value string
		limit        int
	}{
		{"text", r.Text, MaxResponseBytes},
		{"feedback", r.Feedback, MaxNoteBytes},
		{"note", r.Note, MaxNoteBytes},
	} {
		if len(t.value) > t.limit {
			return refuse(CodeTooLarge, t.field, "has %d bytes; at most %d are taken", len(t.value), t.limit)
		}
		if bad, ok := oddCharacter(t.value); ok {
			return refuse(CodeInvalid, t.field, "has the character %s; only printable text, tabs and line ends are taken", bad)
		}
	}
	return nil
}

// oddCharacter finds the first character that is neither text nor tab nor a line end (\n or \r\n).
func oddCharacter(s string) (string, bool) {
	if !utf8.ValidString(s) {
		return "that is not UTF-8", true
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	for _, c := range s {
		if unicode.IsControl(c) && c != '\t' && c != '\n' {
			return strconv.QuoteRuneToASCII(c), true
		}
	}
	return "", false
}

// cut shortens s to at most limit bytes without splitting a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// quote shows what a sender wrote, short and harmless.
func quote(s string) string {
	const limit = 200
	if len(s) > limit {
		return strconv.Quote(cut(s, limit)) + "…"
	}
	return strconv.Quote(s)
}
