package permission

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// envEscapes are what env -S reads in a way of its own: there are escapes for blanks and for the end of the text, comments, and
// variables.
const envEscapes = `\\#$`

// envBlanks are what it takes for blanks, where a shell would end a command or read on.
var envBlanks = strings.NewReplacer("\n", " ", "\t", " ")

// envSpelled undoes the escapes that separate words.
var envSpelled = regexp.MustCompile(`\\[_tnfrv]`)

// splitString is env -S: it splits a text into words, which may be options of env again, and those behind it join them.
func (w *walker) splitString(p *part, text word, rest []word, dirs cwd) {
	all := word{text: "env " + envBlanks.Replace(text.text)}
	all.dynamic = !text.sure() || !(command{words: rest}).sure()
	for _, a := range rest {
		again, err := syntax.Quote(a.text, syntax.LangBash)
		all.text += " " + again
		all.dynamic = all.dynamic || err != nil // no shell could be given such a word
	}
	if strings.ContainsAny(text.text, envEscapes) {
		p.wraps = true
		p.doubt = "env reads this text in a way of its own"
		w.suspect(envSpelled.ReplaceAllString(all.text, " "))
		w.suspect(strings.ReplaceAll(all.text, `\c`, ";"))
		return
	}
	w.nestedScript(p, all, dirs)
}
