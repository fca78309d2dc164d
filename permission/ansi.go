package permission

import (
	"strconv"
	"unicode/utf8"
)

// ansiLetters are the one-letter escapes of $'…'.
var ansiLetters = map[byte]byte{
	'a': '\a', 'b': '\b', 'e': 0x1b, 'E': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// decodeANSI decodes the text of $'…' as bash does, which wraps an octal
// escape above 255 (so \562 is r) and ends at NUL. sure is false for the
// forms that differ between versions.
func decodeANSI(s string) (text string, sure bool) {
	var out []byte
	sure = true
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		c := s[i]
		if plain, ok := ansiLetters[c]; ok {
			out = append(out, plain)
			continue
		}
		switch {
		case '0' <= c && c <= '7':
			n, used := digits(s[i:], 8, 3)
			out = append(out, byte(n))
			i += used - 1
		case c == 'x' || c == 'u' || c == 'U':
			width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			n, used := digits(s[i+1:], 16, width)
			if used == 0 {
				out, sure = append(out, '\\', c), false
				continue
			}
			if c == 'x' {
				out = append(out, byte(n))
			} else {
				out = utf8.AppendRune(out, rune(n))
			}
			i += used
		case c == 'c':
			sure = false
		default:
			out = append(out, '\\', c)
		}
	}
	for i, c := range out {
		if c == 0 {
			return string(out[:i]), false
		}
	}
	return string(out), sure
}

func digits(s string, base, most int) (value uint64, used int) {
	for used < most && used < len(s) {
		d, err := strconv.ParseUint(s[used:used+1], base, 8)
		if err != nil {
			break
		}
		value, used = value*uint64(base)+d, used+1
	}
	return value, used
}
