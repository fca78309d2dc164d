package builtin

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"holdpoint/interaction"
)

// maxPreview bounds a preview in bytes: more than anyone reviews, less than what is stored.
const maxPreview = 32 << 10

// difference shows what replacing before by after changes: a unified diff, with every character that can't be
// seen escaped.
func difference(shown string, before snapshot, after []byte) string {
	switch {
	case binary(before.content) || binary(after):
		return fmt.Sprintf("%s is binary: %d bytes are replaced by %d bytes.", shown, len(before.content), len(after))
	case before.exists && bytes.Equal(before.content, after):
		return fmt.Sprintf("%s stays as it is.", shown)
	case !before.exists && len(after) == 0:
		return fmt.Sprintf("%s is created, empty.", shown)
	}
	from, to := shown, shown
	if !before.exists {
		from = "/dev/null"
	}
	text := udiff.Unified(from, to, string(before.content), string(after))
	return clipMiddle(interaction.VisibleLines(text), maxPreview)
}

// clipMiddle keeps the beginning and the end of s, so that a reviewer sees that something is missing and how it
// ends.
func clipMiddle(s string, limit int) string {
	h := newHeadTail(limit)
	_, _ = h.Write([]byte(s))
	return h.String()
}

// binary reports whether content is not text: no text that tools here handle has a NUL.
func binary(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 }

// foreign reports whether content is text in another encoding than UTF-8.
func foreign(content []byte) bool { return !utf8.Valid(content) }
