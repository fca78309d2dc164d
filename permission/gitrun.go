package permission

import (
	"slices"
	"strings"
)

// findExec finds the commands of -exec and its kin.
func (w *walker) findExec(p *part, args []word, dirs cwd) {
	name := tableName(p.cmd.name())
	for _, o := range programs[name].read(args).opts {
		if o.takes != takesList {
			continue
		}
		where := dirs
		if strings.HasSuffix(o.name, "dir") {
			where = cwd{""}
		}
		words := filledIn(o.list)
		if name != "find" {
			words = append(words, word{text: string(opaqueMark), possible: sequence{{op: opDeep}}, subst: true, open: true})
		}
		w.child(p, command{words: words}, where, stdin{piped: true})
	}
}

// gitRun finds the commands git runs for bisect, submodule, rebase and -c
// alias.
func (w *walker) gitRun(p *part, dirs cwd) {
	words := p.cmd.words
	for i, a := range words {
		if _, value, ok := strings.Cut(a.text, "=!"); ok && i > 0 && (words[i-1].text == "-c" || strings.HasPrefix(a.text, "-c")) {
			w.nestedScript(p, plainWord(value), dirs)
		}
	}
	rest, _, _ := gitWords(p.cmd)
	if len(rest.words) < 3 {
		return
	}
	args := rest.words[2:]
	switch rest.words[1].text {
	case "config":
		for i, a := range args {
			if script, ok := strings.CutPrefix(a.text, "!"); ok {
				w.nestedScript(p, plainWord(script), dirs)
			} else if i > 0 && strings.HasPrefix(foldString(args[i-1].text), "alias.") {
				w.nestedScript(p, plainWord("git "+a.text), dirs)
			}
		}
	case "bisect":
		if args[0].text == "run" {
			w.child(p, command{words: args[1:]}, dirs, stdin{piped: true})
		}
	case "submodule":
		if i := slices.IndexFunc(args, func(a word) bool { return a.text == "foreach" }); i >= 0 {
			args = args[i+1:]
			for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
				args = args[1:]
			}
			w.joined(p, args, cwd{""})
		}
	case "filter-branch":
		for i, a := range args[:len(args)-1] {
			if strings.HasSuffix(a.text, "-filter") {
				w.nestedScript(p, args[i+1], dirs)
			}
		}
	default:
		if table, ok := gitTables[rest.words[1].text]; ok {
			w.optionRuns(p, table.read(args), dirs)
		}
	}
}

// optionRuns finds the commands that options name. The program itself does
// other things, too, so that it does not count as a wrapper.
func (w *walker) optionRuns(p *part, r reading, dirs cwd) {
	wraps := p.wraps
	for _, o := range r.opts {
		if o.use == useRuns && o.given {
			w.nestedScript(p, o.value, dirs)
		}
	}
	p.wraps = wraps
}

// fillsIn are the wrappers that put what they find in place of {}.
var fillsIn = set("xargs parallel watchexec entr")

// filledIn are the words with {} as something that is not known yet.
func filledIn(words []word) []word {
	out := slices.Clone(words)
	for i, a := range out {
		if !strings.Contains(a.text, "{}") {
			continue
		}
		var b wordBuilder
		for n, piece := range strings.Split(a.text, "{}") {
			if n > 0 {
				b.unknown(true)
			}
			b.literal(piece)
		}
		out[i] = b.done()
	}
	return out
}
