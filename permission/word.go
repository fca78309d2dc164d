package permission

import (
	"path"
	"slices"
	"strings"
)

// word is one argument after quoting and braces. Pieces only known at run
// time stand in it as opaqueMark.
type word struct {
	text string
	// possible is what the word could become: file globs and unknown pieces
	// are wildcards. Nil when the text is all there is.
	possible sequence
	// dynamic: contains something that can't be resolved at all.
	dynamic bool
	// subst: contains a command or process substitution.
	subst bool
	// glob: contains an unquoted file glob.
	glob bool
	// open: the first character is not known, so it may be a flag.
	open bool
	// split: an unquoted substitution, which may become several words.
	split bool
	// tilde: an unquoted ~ begins the word.
	tilde bool
}

func plainWord(s string) word { return word{text: s} }

// sure reports whether the text is exactly what the program will get.
func (w word) sure() bool { return !w.dynamic && !w.subst && !w.glob }

// operand reports that a program can't take the word for an option.
func (w word) operand() bool {
	return !w.open && !w.split && (len(w.text) < 2 || w.text[0] != '-')
}

// hides reports whether a piece of the text is only known at run time.
func (w word) hides() bool { return strings.ContainsRune(w.text, opaqueMark) }

// command is one simple command.
type command struct {
	assigns []word
	words   []word
}

func (c command) sure() bool {
	for _, w := range c.words {
		if !w.sure() {
			return false
		}
	}
	return true
}

// name is the program's base name in folded case, as a deny sees it.
func (c command) name() string {
	if len(c.words) == 0 {
		return ""
	}
	return baseName(c.words[0].text)
}

func baseName(s string) string {
	if s == "" {
		return ""
	}
	return strings.TrimSuffix(foldString(path.Base(s)), ".exe") // which Windows leaves out
}

// subject is the words joined for matching, as valid UTF-8.
func (c command) subject(assigns bool) string {
	var room [200]byte
	out := room[:0]
	if assigns {
		for _, w := range c.assigns {
			out = appendWord(out, w.text)
		}
	}
	for _, w := range c.words {
		out = appendWord(out, w.text)
	}
	return trimMark(out)
}

func (c command) baseSubject() string {
	var room [200]byte
	out := appendWord(room[:0], c.name())
	for _, w := range c.words[1:] {
		out = appendWord(out, w.text)
	}
	return trimMark(out)
}

func appendWord(out []byte, s string) []byte {
	return append(append(out, strings.ToValidUTF8(joined(s), "\uFFFD")...), wordSep)
}

// joined is a word as it stands among others.
func joined(s string) string {
	return strings.ReplaceAll(s, string(wordSep), string(wordBlank))
}

// inWord is joined for what a word could be.
func (q sequence) inWord() sequence {
	out := slices.Clone(q)
	for i, t := range out {
		switch {
		case t.op == opLit && t.r == wordSep:
			out[i].r = wordBlank
		case t.op == opClass && t.inClass(wordSep):
			out[i].ranges = append(slices.Clone(t.ranges), runeRange{wordBlank, wordBlank})
		}
	}
	return out
}

func trimMark(out []byte) string {
	return string(out[:max(len(out)-1, 0)])
}

// possible is every command line these words could turn into.
func (c command) possible() sequence {
	var q sequence
	for i, w := range c.words {
		if i > 0 {
			q = append(q, token{op: opLit, r: wordSep})
		}
		switch {
		case w.possible == nil && i == 0:
			q = append(q, literal(joined(c.name()))...)
		case w.possible == nil:
			q = append(q, literal(joined(w.text))...)
		case i == 0:
			// A program found by a glob or a variable has an unknown directory.
			q = append(append(q, token{op: opDeep}), w.possible.inWord().folded()...)
		default:
			q = append(q, w.possible.inWord()...)
		}
	}
	return q
}

// texts are the words' texts.
func (c command) texts() []string {
	out := make([]string, len(c.words))
	for i, w := range c.words {
		out[i] = w.text
	}
	return out
}

// from is the command that starts at word i.
func (c command) from(i int) command { return command{words: c.words[i:]} }

// show writes the command for people.
func (c command) show() string {
	var out []string
	for _, w := range append(append([]word{}, c.assigns...), c.words...) {
		out = append(out, quoteShown(w.text))
	}
	return strings.ReplaceAll(strings.Join(out, " "), string(opaqueMark), "…")
}

func quoteShown(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n\"'") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
