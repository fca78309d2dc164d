package builtin

import (
	"strings"
	"unicode/utf8"
)

// clip cuts s to at most n bytes between runes and says so by an ellipsis.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	return s[:runeStart(s, n-len(mark))] + mark
}

// runeStart is the last index at or before i at which a rune of s begins.
func runeStart(s string, i int) int {
	i = max(i, 0)
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// safe makes s valid UTF-8 without NUL, which neither JSON nor every database can hold.
func safe(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
