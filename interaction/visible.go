package interaction

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible returns s with every character that could hide or disguise something shown as an escape: controls,
// format characters (bidi, zero width, tags), line separators, odd blanks, invalid bytes. Newline and tab become
// \n and \t, so the result is always one line.
func Visible(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == unicode.ReplacementChar && !strings.HasPrefix(s[i:], string(unicode.ReplacementChar)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == ' ' || (unicode.IsPrint(r) && !blankLetter(r)):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// blankLetter reports letters, symbols and marks that Unicode counts as printable and that show nothing.
func blankLetter(r rune) bool {
	switch {
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800, r == 0x034f:
		return true
	case r >= 0xfe00 && r <= 0xfe0e, r >= 0xe0100 && r <= 0xe01ef: // variation selectors; 0xfe0f only makes emoji
		return true
	}
	return false
}

// VisibleLines is Visible for text of several lines: newlines and tabs stay.
func VisibleLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		cells := strings.Split(l, "\t")
		for j, c := range cells {
			cells[j] = Visible(c)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}
