package redact

import "strings"

// disguises reports a character by which a name or a token looks the same and is spelled differently: one without width, or of
// the forms as wide as ideographs.
func disguises(r rune) bool { return widthless(r) || r >= 0xFF01 && r <= 0xFF5E }

func widthless(r rune) bool {
	return r == 0x00AD || r >= 0x200B && r <= 0x200D || r == 0x2060 || r == 0xFEFF
}

// disguised is Text of what has such characters. It is shown as it is, unless more is found in what it looks like: then that is
// shown.
func (r *Rules) disguised(s string) (string, bool) {
	shown, hidden := r.text(s)
	bare, found := r.text(strings.Map(func(r rune) rune {
		switch {
		case widthless(r):
			return -1
		case disguises(r):
			return r - 0xFF01 + '!'
		default:
			return r
		}
	}, s))
	if found && strings.Count(bare, Mark) > strings.Count(shown, Mark) {
		return bare, true
	}
	return shown, hidden
}
