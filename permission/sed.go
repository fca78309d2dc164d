package permission

import "strings"

// sedHazard reports whether one of the scripts of a sed command could execute
// or write. Anything not recognised as harmless counts.
func sedHazard(r reading) bool {
	given := false
	for _, o := range r.opts {
		if o.name == "e" || o.name == "expression" {
			given = true
			if !harmlessSed(o.value.text) {
				return true
			}
		}
	}
	return !given && len(r.operands) > 0 && !harmlessSed(r.operands[0].text)
}

// harmlessSed accepts scripts made of addresses and the commands that only
// print, delete and substitute.
func harmlessSed(s string) bool {
	if strings.ContainsRune(s, opaqueMark) {
		return false
	}
	for s != "" {
		s = strings.TrimLeft(s, " \t\n;{}")
		if s == "" {
			return true
		}
		var ok bool
		if s, ok = sedAddress(s); !ok {
			return false
		}
		if s, ok = sedCommand(strings.TrimLeft(s, " \t!")); !ok {
			return false
		}
	}
	return true
}

func sedAddress(s string) (string, bool) {
	for s != "" {
		switch c := s[0]; {
		case '0' <= c && c <= '9' || c == '$' || c == ',' || c == '~' || c == '+' || c == ' ' || c == 'I' || c == 'M':
			s = s[1:]
		case c == '/':
			rest, ok := sedUntil(s[1:], '/')
			if !ok {
				return "", false
			}
			s = rest
		case c == '\\' && len(s) > 1:
			rest, ok := sedUntil(s[2:], s[1])
			if !ok {
				return "", false
			}
			s = rest
		default:
			return s, true
		}
	}
	return "", true
}

// sedUntil skips to after the next unescaped delimiter. A bracket expression
// may hold the delimiter in some versions, so it is not accepted.
func sedUntil(s string, delimiter byte) (string, bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case delimiter:
			return s[i+1:], !openBracket(s[:i])
		case '\n':
			return "", false
		}
	}
	return "", false
}

// openBracket reports that a bracket expression has not ended, so that the
// delimiter just found may be inside it.
func openBracket(s string) bool {
	at := strings.LastIndexByte(s, '[')
	return at >= 0 && !strings.Contains(s[at:], "]")
}

func sedCommand(s string) (string, bool) {
	if s == "" {
		return "", true
	}
	c, rest := s[0], s[1:]
	switch c {
	case 'p', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'x', '=', 'P', '}', '{', ';', '\n', '#', 'q', 'Q', 'l':
		if c == '#' {
			_, rest, _ = strings.Cut(rest, "\n")
		}
		return strings.TrimLeft(rest, "0123456789 "), true
	case 'b', 't', 'T', ':', 'a', 'i', 'c':
		// Labels and text run to the end of the line.
		_, rest, found := strings.Cut(rest, "\n")
		if c == 'b' || c == 't' || c == 'T' || c == ':' {
			// Some versions end a label at a blank, others at the line.
			label, _, _ := strings.Cut(s[1:], "\n")
			return rest, !strings.ContainsAny(strings.TrimSpace(label), " \t;}")
		}
		return rest, !found
	case 'y', 's':
		return sedSubstitute(c, rest)
	default:
		return "", false
	}
}

func sedSubstitute(c byte, s string) (string, bool) {
	if s == "" || s[0] == '\\' || s[0] == '\n' {
		return "", false
	}
	rest, ok := sedUntil(s[1:], s[0])
	if !ok {
		return "", false
	}
	if rest, ok = sedUntil(rest, s[0]); !ok {
		return "", false
	}
	if c == 'y' {
		return rest, true
	}
	flags := strings.TrimLeft(rest, "gpiIMm0123456789")
	if flags != "" && !strings.ContainsRune(" ;\n}", rune(flags[0])) {
		return "", false
	}
	return flags, true
}
