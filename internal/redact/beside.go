package redact

import (
	"regexp"
	"slices"
	"strings"
)

// A secret may stand beside the name of one in other forms than name=value: as the value of a pair whose name is said beside it
// ({"name": "password", "value": …}, an entry of a list of variables, a header of a recorded request), and after "is" in prose.
// Both are read by hand around the few places where they may be: names are many, and an expression of them all is slow.

// labels and values are the members of a pair, as plain writes them. Both may begin with the same word: ParameterKey and
// ParameterValue.
var (
	labels = []string{"name", "key", "header", "field", "param", "parameter", "variable", "env"}
	values = []string{"value", "val", "values"}
)

var (
	heldValue = regexp.MustCompile(`^(?i)val(?:ue)?\\?["']?\s{0,4}[:=]\s{0,4}` + value)
	// turned is a value before its name.
	turned = turnedTo("")
	// turnedAs is one whose name begins with a word of its own.
	turnedAs = turnedTo(`[a-z_-]{1,30}?`)
	// optionBefore and optionValue are a pair of options: --name db_password --value ….
	optionBefore = regexp.MustCompile(`--(?:` + strings.Join(labels, "|") + `)(?:[ \t]+|=)["']?([a-z0-9_./-]+)["']?[ \t](?:[^\n;|&]*[ \t])?--$`)
	optionValue  = regexp.MustCompile(`^(?i)val(?:ue)?(?:[ \t]+|=)` + value)
	element      = regexp.MustCompile(`^(?i)value>\s{0,4}([^<$\s][^<]{2,})`)
)

func turnedTo(prefix string) *regexp.Regexp {
	return regexp.MustCompile(`^(?i)val(?:ue)?\\?["']?\s{0,4}[:=]\s{0,4}(?:\\?["']([^"'\n\\$]{3,500})\\?["']|([^\s"',;&$\\{}\[\]:=]{3,500}={0,2}))(?:[\s,;&]|\\[nrt]|#[^\n]*\n){1,60}\\?["']?` +
		`(` + prefix + `)(?:` + strings.Join(labels, "|") + `)\\?["']?\s{0,4}[:=]\s{0,4}(?:\\?["']([A-Za-z0-9_. -]{1,80})\\?["']|([A-Za-z0-9_.-]{1,80})(?:[\s,;&}\\]|$))`)
}

// half is the word by which a member of a pair begins, where it is one of some.
func half(own string, of []string) (prefix string, ok bool) {
	for _, member := range of {
		if own == member {
			return "", true
		}
	}
	for _, member := range of {
		// Of those that are not whole, val is the end of other words: interval, approval.
		if prefix, ok := strings.CutSuffix(own, member); ok && len(member) > 2 && member != "val" && member != "env" {
			return prefix, true
		}
	}
	return "", false
}

// besides finds what stands beside a name, in pairs and in prose.
func (r *Rules) besides(s string) (string, bool) {
	lower := folded(s)
	holes := slices.Concat(r.pairs(s, lower), r.said(s, lower), r.spread(s, lower), r.settings(s, lower))
	if len(holes) == 0 {
		return s, false
	}
	return string(fill([]byte(s), holes, Mark)), true
}

// setting is a command that sets what is named: aws configure set NAME VALUE.
var setting = regexp.MustCompile(`(?i)^(?:ure)?[ \t]+set[ \t]+([^\s=]{1,200})[ \t=]+["']?([^\s"'$-][^\s"']{2,})`)

func (r *Rules) settings(s, lower string) (holes []hole) {
	for at := 0; ; {
		i := strings.Index(lower[at:], "config")
		if i < 0 {
			return holes
		}
		at += i + len("config")
		if found := setting.FindStringSubmatchIndex(s[at:min(len(s), at+1000)]); found != nil && r.Field(s[at+found[2]:at+found[3]]) && s[at+found[4]:at+found[5]] != Mark {
			holes = append(holes, hole{at + found[4], at + found[5]})
		}
	}
}

// folded is a text in lower case, byte for byte.
func folded(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// pairs finds the values whose names are of secrets.
func (r *Rules) pairs(s, lower string) (holes []hole) {
	for at := 0; ; {
		i := strings.Index(lower[at:], "val")
		if i < 0 {
			return holes
		}
		i += at
		h, found := r.pair(s, lower, i)
		at = i + len("val")
		if found && s[h.from:h.to] != Mark {
			holes = append(holes, h)
			at = max(at, h.to)
		}
	}
}

func (r *Rules) pair(s, lower string, i int) (h hole, found bool) {
	if i > 0 && lower[i-1] == '<' {
		if at := element.FindStringSubmatchIndex(s[i:]); at != nil && r.Field(elementBefore(lower[:i-1])) {
			return hole{i + at[2], i + at[3]}, true
		}
		return h, false
	}
	if strings.HasSuffix(lower[:i], "--") {
		if of := optionBefore.FindStringSubmatch(lower[max(0, i-maxBefore):i]); of != nil && r.Field(of[1]) {
			return group(optionValue.FindStringSubmatchIndex(s[i:]), i, 2)
		}
	}
	if !assigned(lower[i:]) {
		return h, false
	}
	own := lower[max(0, i-maxPrefix):i]
	from := strings.LastIndexFunc(own, func(r rune) bool { return !nameRune(r) }) + 1
	if from > 0 && own[from-1] == '\\' && from < len(own) && strings.IndexByte("nrt", own[from]) >= 0 {
		from++ // the end of a line, in a text within a text
	}
	own = own[from:]
	if name := nameBefore(lower[:i-len(own)], plain(own)); r.Field(name) {
		return group(heldValue.FindStringSubmatchIndex(s[i:]), i, 2)
	} else if name != "" { // what comes next is another's
		return h, false
	}
	expression := turned
	if own != "" {
		expression = turnedAs
	}
	at := expression.FindStringSubmatchIndex(s[i:min(len(s), i+1000)])
	if name, found := group(at, i, 8); found && r.Field(s[name.from:name.to]) && plain(s[i+at[6]:i+at[7]]) == plain(own) {
		return group(at, i, 2)
	}
	return h, false
}

// group is the first group that matched, from the n-th index on, of a match that began at a place.
func group(at []int, place, n int) (h hole, found bool) {
	for ; n < len(at); n += 2 {
		if at[n] >= 0 {
			return hole{place + at[n], place + at[n+1]}, true
		}
	}
	return h, false
}

const quotes = `"'\`

// assigned reports whether what begins with a value's name goes on with its value.
func assigned(lower string) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(lower, "val"), "ue")
	rest = strings.TrimLeft(rest[:min(len(rest), 8)], quotes+" \t")
	return rest != "" && (rest[0] == ':' || rest[0] == '=')
}

const (
	// maxBefore bounds how far back a name may be.
	maxBefore = 200
	// maxPrefix bounds the word by which both members of a pair begin.
	maxPrefix = 30
)

// nameBefore is the name of the pair whose value comes next: name: NAME, and what stands between, comments too. "" for none. Both
// names of the pair begin with prefix.
func nameBefore(lower, prefix string) string {
	lower = lower[max(0, len(lower)-maxBefore):]
	if name := nameAtEnd(lower, prefix); name != "" {
		return name
	}
	for n := 0; n < 5; n++ {
		shorter := beforeComment(lower)
		if len(shorter) == len(lower) {
			return ""
		}
		if name := nameAtEnd(shorter+"\n", prefix); name != "" {
			return name
		}
		lower = shorter
	}
	return ""
}

// beforeComment is a text without the comment on the last of its lines that is not empty, which is another than that of its end.
func beforeComment(text string) string {
	rest := strings.TrimRight(text, quotes+" \t\r-")
	if block, ok := strings.CutSuffix(rest, "*/"); ok {
		if i := strings.LastIndex(block, "/*"); i >= 0 {
			return block[:i]
		}
	}
	if !strings.HasSuffix(rest, "\n") {
		return text
	}
	rest = strings.TrimRight(rest, " \t\r\n")
	line := strings.LastIndexByte(rest, '\n') + 1
	for _, sign := range []string{"#", "//"} {
		if i := strings.Index(rest[line:], sign); i == 0 || i > 0 && blank(rest[line+i-1]) {
			return rest[:line+i]
		}
	}
	return text
}

// nameAtEnd is nameBefore without comments.
func nameAtEnd(lower, prefix string) string {
	rest := strings.TrimRight(lower, quotes)
	for between := true; between; {
		shorter := strings.TrimRight(rest, " \t\r\n,;&")
		for _, escape := range []string{`\n`, `\r`, `\t`} {
			shorter = strings.TrimSuffix(shorter, escape)
		}
		between = len(shorter) < len(rest)
		rest = shorter
	}
	if strings.TrimRight(lower, quotes) == rest { // nothing is between
		return ""
	}
	rest = strings.TrimRight(rest, quotes)
	name := rest[strings.LastIndexFunc(rest, func(r rune) bool { return !nameRune(r) })+1:]
	rest = strings.TrimRight(strings.TrimSuffix(rest, name), quotes+" \t")
	if rest == "" || rest[len(rest)-1] != ':' && rest[len(rest)-1] != '=' {
		return ""
	}
	rest = strings.TrimRight(rest[:len(rest)-1], quotes+" \t")
	said := rest[strings.LastIndexFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' })+1:]
	if prefix != "" {
		said = rest[strings.LastIndexFunc(rest, func(r rune) bool { return !nameRune(r) })+1:]
		own, ok := strings.CutPrefix(plain(said), prefix)
		if !ok {
			return ""
		}
		said = own
	}
	if !slices.Contains(labels, said) {
		return ""
	}
	return name
}

// nameRune reports whether a name has the character.
func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
}

// elementBefore is the text of the element <name> or <key> that ends here.
func elementBefore(lower string) string {
	lower = strings.TrimRight(lower[max(0, len(lower)-maxBefore):], " \t\r\n")
	for _, label := range []string{"name", "key"} {
		if rest, ok := strings.CutSuffix(lower, "</"+label+">"); ok {
			_, name, _ := strings.Cut(rest[max(0, strings.LastIndex(rest, "<")):], "<"+label+">")
			return name
		}
	}
	return ""
}
