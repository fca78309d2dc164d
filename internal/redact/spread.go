package redact

import (
	"regexp"
	"strings"
)

// A value may stand lines below its name: in a block of YAML (password: |), behind a comment, in a part of a form.

// spread finds the values that stand apart from their names.
func (r *Rules) spread(s, lower string) (holes []hole) {
	for i := 0; i < len(s); i++ {
		if s[i] != ':' && s[i] != '=' {
			continue
		}
		at := skip(s, i+1, " \t", maxSpread)
		if at == len(s) || !strings.ContainsRune("#/|>", rune(s[at])) || strings.HasPrefix(s[i:], "://") {
			continue
		}
		sign := i
		if i > 0 && s[i-1:i+1] == ":=" {
			sign--
		}
		if word := wordBefore(s, sign); word == "" || !r.Field(word) && !r.heldBy(lower[:sign], word) {
			continue
		}
		if h, found := apart(s, i, at); found && s[h.from:h.to] != Mark && s[h.from] != '$' {
			holes = append(holes, h)
			i = h.to - 1
		}
	}
	return append(holes, r.parts(s, lower)...)
}

// maxSpread bounds a comment, and the blanks around it.
const maxSpread = 300

// skip is the first place from at on that has none of some characters.
func skip(s string, at int, cutset string, most int) int {
	for n := 0; n < most && at < len(s) && strings.IndexByte(cutset, s[at]) >= 0; n++ {
		at++
	}
	return at
}

// heldBy reports whether a word is that of a value whose name, a secret's, stands before it.
func (r *Rules) heldBy(lower, word string) bool {
	of, ok := half(plain(word), values)
	if !ok {
		return false
	}
	start := strings.LastIndex(lower, strings.ToLower(word))
	return start >= 0 && r.Field(nameBefore(lower[:start], of))
}

// apart is the value of a name whose sign is at i, where at is a comment or a block's head.
func apart(s string, i, at int) (h hole, found bool) {
	if s[at] == '|' || s[at] == '>' {
		if s[i] == ':' {
			return block(s, i, at)
		}
		return h, false
	}
	line := false // a line has ended since
	for n := 0; n < 5; n++ {
		end, lineEnds, ok := comment(s, at)
		if !ok {
			break
		}
		line = line || lineEnds
		if at = skip(s, end, " \t\r\n", maxSpread); at == len(s) {
			return h, false
		}
	}
	if s[at] == '#' || s[at] == '/' || line && s[at] != '"' && s[at] != '\'' && column(s, at) <= column(s, i) {
		return h, false
	}
	h, found = group(afterElement.FindStringSubmatchIndex(s[at:]), at, 2)
	return h, found && s[h.to-1] != ':' // which is a name
}

// comment is where a comment ends that begins at a place, and whether its line does.
func comment(s string, at int) (end int, line, ok bool) {
	rest := s[at:min(len(s), at+maxSpread)]
	switch {
	case strings.HasPrefix(rest, "#"), strings.HasPrefix(rest, "//"):
		n := strings.IndexByte(rest, '\n')
		return at + n, true, n > 0
	case strings.HasPrefix(rest, "/*"):
		n := strings.Index(rest, "*/")
		return at + n + 2, false, n > 0
	}
	return at, false, false
}

// column is how far from the beginning of its line something is that stands on it first, but for the dashes of lists.
func column(s string, i int) int {
	from := max(0, i-maxSpread)
	line := s[from:i]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	if end := strings.LastIndex(line, `\n`); end >= 0 {
		line = line[end+len(`\n`):]
	}
	n := 0
	for n < len(line) && (line[n] == ' ' || line[n] == '-' && n+1 < len(line) && line[n+1] == ' ') {
		n++
	}
	return n
}

// blockHead is what follows the sign of a block of YAML.
var blockHead = regexp.MustCompile(`^[|>][-+0-9]{0,2}[ \t]*(?:#[^\n\\]*)?(?:\r?\n|(?:\\r)?(\\n))`)

// block is the text of a block of YAML whose name's sign is at i. In a text within a text, lines end in \n.
func block(s string, i, at int) (h hole, found bool) {
	head := blockHead.FindStringSubmatchIndex(s[at:])
	if head == nil {
		return h, false
	}
	ending := "\n"
	if head[2] >= 0 {
		ending = `\n`
	}
	deep := column(s, i)
	for at += head[1]; at < len(s); {
		line, _, more := strings.Cut(s[at:], ending)
		next := at + len(line) + len(ending)
		if ending == `\n` {
			if quote := strings.IndexAny(line, "\"\n"); quote >= 0 {
				line, more = line[:quote], false
			}
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if text := strings.TrimRight(line, " \r"); indent < len(text) {
			if indent <= deep {
				break
			}
			if !found {
				h.from, found = at+indent, true
			}
			h.to = at + len(text)
		}
		if !more {
			break
		}
		at = next
	}
	return h, found
}

// partName is the name of a part of a form.
var partName = regexp.MustCompile(`;[ \t]*name="?([A-Za-z0-9_.\[\]-]{1,80})"?`)

// parts finds the values of parts of a form: their headers, an empty line, the value.
func (r *Rules) parts(s, lower string) (holes []hole) {
	const head = "form-data;"
	for at := 0; ; {
		i := strings.Index(lower[at:], head)
		if i < 0 {
			return holes
		}
		i += at + len(head) - 1
		at = i
		line, _, _ := strings.Cut(s[i:min(len(s), i+maxSpread)], "\n")
		name := partName.FindStringSubmatch(line)
		if name == nil || !r.Field(strings.Trim(name[1], "[]")) {
			continue
		}
		next := i + len(line) + 1
		for headers := 0; headers < 6 && next < len(s); headers++ {
			line, _, _ := strings.Cut(s[next:min(len(s), next+1<<10)], "\n")
			if strings.TrimRight(line, "\r") != "" {
				next += len(line) + 1
				continue
			}
			next += len(line) + 1
			if next < len(s) {
				value, _, _ := strings.Cut(s[next:], "\n")
				if value = strings.TrimRight(value, "\r"); value != "" && value != Mark {
					holes = append(holes, hole{next, next + len(value)})
				}
				at = next + len(value)
			}
			break
		}
	}
}
