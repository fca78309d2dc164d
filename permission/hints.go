package permission

import (
	"strings"
)

// maxHints bounds the commands looked for inside arguments.
const maxHints = 200

// hints looks for commands spelled inside an argument, such as
// system("rm x"): whether they run is not known, so a deny there asks.
func (w *walker) hints(p *part) { w.hintsIn(p, p.cmd.words[1:]) }

func (w *walker) hintsIn(p *part, words []word) {
	for _, a := range words {
		texts := []string{a.text}
		if len(a.text) > 2 && a.text[0] == '-' && a.text[1] != '-' {
			// A value may be glued to an option's letter.
			for at := 2; at < min(len(a.text), 6); at++ {
				texts = append(texts, strings.ToValidUTF8(a.text[at:], ""))
			}
		}
		for _, text := range texts {
			if len(p.inner) > maxHints+len(p.cmd.words) || !strings.ContainsAny(text, " \t\n(!=;") {
				continue
			}
			w.hint(p, text)
		}
	}
}

func (w *walker) hint(p *part, text string) {
	found := &script{places: w.places}
	found.suspect(strings.NewReplacer("=", " ", "!", " ", "$", " ", ":", " ").Replace(text))
	for _, c := range found.suspects[:min(len(found.suspects), maxHints)] {
		for i := range c.words[:min(len(c.words), maxHints)] {
			p.inner = append(p.inner, c.from(i))
		}
	}
}

// hiddenIn looks for commands in what a variable is set to: a program may run it, as git does with PAGER, and the shell
// may evaluate it later, as a subscript or a prompt.
func (w *walker) hiddenIn(p *part, a word) {
	if _, value, ok := strings.Cut(a.text, "="); ok && value != "" {
		w.hint(p, value)
	}
}

// suffixes marks every tail of the words as a command the program may run.
func (w *walker) suffixes(p *part) {
	if !w.places.work.within(&w.places.work.inner, len(p.cmd.words), maxInner) {
		w.tails = append(w.tails, p.cmd)
		return
	}
	for i := 1; i < len(p.cmd.words); i++ {
		p.inner = append(p.inner, p.cmd.from(i))
	}
}

// hiddenText tries deny on text that a declaration may evaluate.
func (w *walker) hiddenText(p *part) {
	for _, a := range p.cmd.words {
		if strings.Contains(a.text, "$(") || strings.Contains(a.text, "`") {
			w.suspect(a.text)
		}
	}
}
