package permission

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// oddText names the first character of s that people or programs could read
// in two ways, or "" when there is none. Tab and newline are left to the
// caller through plain.
func oddText(s string, plain string) string {
	if !utf8.ValidString(s) {
		return "bytes that are not valid UTF-8"
	}
	for _, r := range s {
		if r < utf8.RuneSelf && r >= ' ' && r != 0x7f {
			continue
		}
		if contains(plain, r) {
			continue
		}
		if name := oddRune(r); name != "" {
			return name
		}
	}
	return ""
}

func contains(set string, r rune) bool {
	for _, c := range set {
		if c == r {
			return true
		}
	}
	return false
}

func oddRune(r rune) string {
	switch {
	case unicode.IsControl(r):
		return fmt.Sprintf("the control character %U", r)
	case unicode.Is(unicode.Cf, r):
		return fmt.Sprintf("the invisible format character %U", r)
	case unicode.In(r, unicode.Zl, unicode.Zp):
		return fmt.Sprintf("the line separator %U", r)
	case r != ' ' && unicode.Is(unicode.Zs, r):
		return fmt.Sprintf("the unusual blank %U", r)
	case invisible(r):
		return fmt.Sprintf("the invisible character %U", r)
	case unicode.In(r, unicode.Co, unicode.Noncharacter_Code_Point):
		return fmt.Sprintf("the private or unassigned character %U", r)
	default:
		return ""
	}
}

// invisible finds the characters that are letters or marks by category and
// draw nothing. The two variation selectors that belong to emoji are ordinary.
func invisible(r rune) bool {
	if r == 0xFE0E || r == 0xFE0F {
		return false
	}
	return r == 0x2800 || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// asciiName reports whether a command or tool name is free of look-alikes.
func asciiName(s string) bool {
	for _, r := range s {
		if r > unicode.MaxASCII || r < ' ' || r == 0x7f {
			return false
		}
	}
	return true
}
