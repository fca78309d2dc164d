package web

import (
	"html/template"
	"regexp"
	"strings"
	"unicode/utf8"

	"holdpoint/interaction"
)

// safe writes foreign text as HTML: characters that could hide or disguise something as marked escapes, everything
// else escaped. On one line, newlines and tabs are escapes as well.
func safe(s string, oneLine bool) template.HTML {
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf && c >= ' ' && c != 0x7f {
			writeHTML(&b, c)
			i++
			continue
		}
		if !oneLine && (c == '\n' || c == '\t') {
			b.WriteByte(c)
			i++
			continue
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+size]
		if v := interaction.Visible(piece); v == piece {
			b.WriteString(piece)
		} else {
			b.WriteString(`<span class="odd">` + v + `</span>`)
		}
		i += size
	}
	return template.HTML(b.String()) //nolint:gosec // every character was escaped above
}

func writeHTML(b *strings.Builder, c byte) {
	switch c {
	case '<':
		b.WriteString("&lt;")
	case '>':
		b.WriteString("&gt;")
	case '&':
		b.WriteString("&amp;")
	case '"':
		b.WriteString("&#34;")
	case '\'':
		b.WriteString("&#39;")
	default:
		b.WriteByte(c)
	}
}

// line is safe text on one line, lines is safe text of several. Both take any string type.
func line[T ~string](s T) template.HTML  { return safe(string(s), true) }
func lines[T ~string](s T) template.HTML { return safe(string(s), false) }

// shellTokens are what is coloured in a command; the first that fits wins.
var shellTokens = regexp.MustCompile(`(?s)(#[^\n]*)|('[^']*'|"(?:\\.|[^"\\])*")|(\$\{[^}]*\}|\$\(|\$\w+|` + "`" + `)|(&&|\|\||[|;&<>]+)|(\s--?[A-Za-z][\w-]*)`)

var shellClasses = []string{"com", "str", "var", "op", "opt"}

// maxColoured bounds what is coloured; longer text is shown plain.
const maxColoured = 32 << 10

// shell colours a command. It changes no character, so that a mistake of its own misleads nobody.
func shell(s string) template.HTML {
	if len(s) > maxColoured {
		return lines(s)
	}
	var b strings.Builder
	at := 0
	for _, m := range shellTokens.FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(string(lines(s[at:m[0]])))
		at = m[1]
		for n, class := range shellClasses {
			if from := m[2+2*n]; from >= 0 {
				b.WriteString(`<span class="t-` + class + `">` + string(lines(s[m[0]:m[1]])) + `</span>`)
				break
			}
		}
	}
	b.WriteString(string(lines(s[at:])))
	return template.HTML(b.String()) //nolint:gosec // made of safe pieces
}

// diffLine is a line of a unified diff.
type diffLine struct {
	Class    string
	Old, New int // numbers; 0 for none
	Text     string
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

func isDiff(text string) bool {
	return strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n+++ ") && strings.Contains(text, "\n@@ ")
}

// diff reads a unified diff; its two head lines are left to the title.
func diff(text string) (out []diffLine) {
	before, after := 0, 0
	for n, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		d := diffLine{Text: l}
		switch m := hunkHead.FindStringSubmatch(l); {
		case n < 2:
			d.Class = "head"
		case m != nil:
			d.Class, before, after = "hunk", number(m[1]), number(m[2])
		case strings.HasPrefix(l, "+"):
			d.Class, d.New = "add", after
			after++
		case strings.HasPrefix(l, "-"):
			d.Class, d.Old = "del", before
			before++
		case strings.HasPrefix(l, `\`):
			d.Class = "hunk"
		default:
			d.Old, d.New = before, after
			before++
			after++
		}
		out = append(out, d)
	}
	return out
}

func number(s string) (n int) {
	for _, c := range s {
		if n > 1<<30 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}
