package config

import (
	"fmt"
	"strings"
)

// expand replaces ${NAME} by the environment variable and $$ by one dollar sign. changed reports whether a
// variable was put in. An error names the variable and never a value.
func expand(text string, env func(string) (string, bool)) (out string, changed bool, err error) {
	if !strings.Contains(text, "$") {
		return text, false, nil
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 || i == len(text)-1 {
			b.WriteString(text)
			return b.String(), changed, nil
		}
		b.WriteString(text[:i])
		rest := text[i+1:]
		switch rest[0] {
		case '$':
			b.WriteByte('$')
			text = rest[1:]
		case '{':
			name, after, ok := strings.Cut(rest[1:], "}")
			if !ok || !isVariable(name) {
				return "", false, fmt.Errorf("${ starts a variable such as ${NAME} (letters, digits and _); write $${ for the characters themselves")
			}
			value, set := env(name)
			if !set {
				return "", false, fmt.Errorf("the environment variable %s is not set: set it, or write the value here", name)
			}
			b.WriteString(value)
			text, changed = after, true
		default:
			b.WriteByte('$')
			text = rest
		}
	}
}

func isVariable(name string) bool {
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// escapeVariables writes a text so that expand gives it back.
func escapeVariables(text string) string {
	if !strings.Contains(text, "${") && !strings.Contains(text, "$$") {
		return text
	}
	return strings.ReplaceAll(text, "$", "$$")
}
