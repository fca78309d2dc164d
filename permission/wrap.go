package permission

import (
	"slices"
	"strings"
)

func set(s string) map[string]bool {
	out := map[string]bool{}
	for f := range strings.FieldsSeq(s) {
		out[f] = true
	}
	return out
}

const maxWrapDepth = 30

// unwrap adds the commands that a command starts: as a wrapper, a shell, eval
// and the like.
func (w *walker) unwrap(p *part, dirs cwd, in stdin) {
	if w.depth++; w.depth > maxWrapDepth {
		w.fault("commands are wrapped in one another too deeply")
		for i := range p.cmd.words {
			w.tails = append(w.tails, p.cmd.from(i))
		}
		w.depth--
		return
	}
	defer func() { w.depth-- }()
	name, args := p.cmd.name(), p.cmd.words[1:]
	spec, wrapped := wrappers[name]
	switch {
	case shells[name]:
		w.shell(p, args, dirs, in)
	case name == "eval":
		if len(args) > 0 && args[0].text == "--" {
			args = args[1:]
		}
		w.joined(p, args, dirs)
	case name == "trap":
		w.trap(p, args, dirs)
	case name == "alias":
		w.alias(p, args, dirs)
	case name == "." || name == "source":
		w.scriptFile(p, args, dirs, in)
	case name == "find" || name == "fd" || name == "fdfind" || name == "bfind" || name == "gfind":
		w.findExec(p, args, dirs)
	case name == "git":
		w.gitRun(p, dirs)
	case wrapped:
		w.wrapper(p, spec, args, dirs, in)
	case !dataPrograms[name]:
		w.suffixes(p)
		w.hints(p)
	}
	if p.hazard != "" {
		w.suffixes(p)
		w.hints(p)
	}
	if nameBuiltins[name] {
		w.hiddenText(p)
	}
	for _, a := range p.cmd.assigns {
		w.hiddenIn(p, a)
	}
}

// child adds a command found in p's words.
func (w *walker) child(p *part, c command, dirs cwd, in stdin) {
	if len(c.words) == 0 {
		return
	}
	p.wraps = true
	inner := &part{kind: partCommand, text: c.show(), cmd: c, parent: p}
	w.run(inner, dirs, in)
}

// nestedScript analyses text that p will run as a script.
func (w *walker) nestedScript(p *part, text word, dirs cwd) { w.nestedFrom(p, text, dirs, false) }

func (w *walker) nestedFrom(p *part, text word, dirs cwd, fed bool) {
	p.wraps = true
	if !text.sure() {
		p.doubt = "the script it runs is only known at run time"
		w.suspect(strings.ReplaceAll(text.text, string(opaqueMark), " "))
		return
	}
	if strings.TrimSpace(text.text) == "" {
		return
	}
	w.scriptFrom(text.text, dirs, p, fed)
}

func (w *walker) joined(p *part, args []word, dirs cwd) {
	all := word{text: strings.Join(command{words: args}.texts(), " ")}
	all.dynamic = !command{words: args}.sure()
	w.nestedScript(p, all, dirs)
}

// wrapper finds the inner command of a table entry.
func (w *walker) wrapper(p *part, spec wrapSpec, args []word, dirs cwd, in stdin) {
	if spec.elsewhere {
		dirs = cwd{""}
	}
	if spec.subs != nil {
		rest, _ := spec.optionsOnly().inner(args)
		if len(rest) == 0 || !slices.Contains(spec.subs, rest[0].text) {
			w.scripts(p, spec, args, dirs)
			if slices.ContainsFunc(args, func(a word) bool { return slices.Contains(spec.subs, a.text) }) {
				w.suffixes(p)
				w.hints(p)
			}
			return
		}
		args = rest[1:]
	}
	before := len(w.parts)
	w.scripts(p, spec, args, dirs)
	inner, sure := spec.inner(args)
	w.hintsIn(p, args[:len(args)-len(inner)])
	if slices.ContainsFunc(args[:len(args)-len(inner)], movesElsewhere) {
		dirs = cwd{""}
	}
	switch {
	case p.cmd.name() == "command" && len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V"):
		// It only says where the program is.
		return
	case spec.joined && len(inner) > 0:
		w.hintsIn(p, inner[len(cutParallel(inner)):])
		w.joined(p, cutParallel(inner), dirs)
	case len(inner) > 0:
		w.innerCommand(p, spec, inner, dirs, in)
	case in.piped && len(w.parts) == before && !spec.transparent && !readsNoScript[p.cmd.name()]:
		// Without a command most of them start a shell.
		w.fromInput(p, dirs, in)
	}
	p.transparent = spec.transparent && sure && len(w.parts) > before && p.addsNothing()
	if !sure || p.cmd.name() == "xargs" || p.cmd.name() == "parallel" {
		w.suffixes(p)
	}
}

// readsNoScript are the wrappers that, without a command, leave their standard
// input alone or take it for data.
var readsNoScript = set("env xargs exec ionice npm yarn script just ansible expect")

// addsNothing checks that a transparent wrapper is the real one and writes no
// file of its own.
func (p *part) addsNothing() bool {
	c := p.cmd
	if len(c.assigns) > 0 || !c.words[0].sure() || c.words[0].text != c.name() {
		return false
	}
	if c.name() != "time" {
		return true
	}
	for i := 1; i < len(c.words) && strings.HasPrefix(c.words[i].text, "-"); i++ {
		text := c.words[i].text
		if strings.HasPrefix(text, "--o") || text[:min(2, len(text))] != "--" && strings.Contains(text, "o") {
			return false
		}
		if text == "-f" || text == "--format" {
			i++
		}
	}
	return true
}

// movesElsewhere are the options with which wrappers change the directory.
func movesElsewhere(a word) bool {
	return strings.HasPrefix(a.text, "-C") || strings.HasPrefix(a.text, "-D") || strings.HasPrefix(a.text, "--c")
}

// optionsOnly is the spec for finding the first operand.
func (spec wrapSpec) optionsOnly() wrapSpec {
	spec.skip, spec.assigns, spec.scripts = 0, false, nil
	return spec
}

func (w *walker) innerCommand(p *part, spec wrapSpec, inner []word, dirs cwd, in stdin) {
	c := command{}
	for spec.assigns && len(inner) > 0 && isAssign(inner[0].text) {
		c.assigns, inner = append(c.assigns, inner[0]), inner[1:]
	}
	if p.cmd.name() == "mise" || p.cmd.name() == "rtx" || p.cmd.name() == "asdf" {
		for len(inner) > 1 && strings.Contains(inner[0].text, "@") {
			inner = inner[1:]
		}
		if len(inner) > 0 && inner[0].text == "--" {
			inner = inner[1:]
		}
	}
	c.words = slices.Clone(inner)
	if fillsIn[p.cmd.name()] {
		c.words = filledIn(c.words)
	}
	if p.cmd.name() == "xargs" {
		c.words = append(c.words, word{text: string(opaqueMark), possible: sequence{{op: opDeep}}, subst: true, open: true})
	}
	w.child(p, c, dirs, in)
}

// scripts analyses the options that carry a script.
func (w *walker) scripts(p *part, spec wrapSpec, args []word, dirs cwd) {
	for i, a := range args {
		next := word{}
		if i+1 < len(args) {
			next = args[i+1]
		}
		if script, ok := spec.scriptIn(a, next); ok {
			w.nestedScript(p, script, dirs)
		}
	}
}

// scriptIn finds the script that an option carries: in its word, after the
// letter, or in the next.
func (spec wrapSpec) scriptIn(a, next word) (word, bool) {
	cut := func(at int) word {
		out := a
		out.text = a.text[at:]
		return out
	}
	name, _, glued := strings.Cut(a.text, "=")
	for _, flag := range spec.scripts {
		switch {
		case strings.HasPrefix(flag, "--"):
			if len(name) > 2 && strings.HasPrefix(flag, name) {
				if glued {
					return cut(len(name) + 1), true
				}
				return next, true
			}
		case len(flag) == 2 && len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-':
			at := strings.IndexByte(a.text, flag[1])
			if at < 0 || strings.ContainsAny(a.text[1:at], strings.ReplaceAll(spec.values, flag[1:], "")) {
				continue
			}
			if at+1 < len(a.text) {
				return cut(at + 1), true
			}
			return next, true
		}
	}
	return word{}, false
}

// inner skips options and operands. sure is false when an unknown option may
// or may not have taken the next word.
func (spec wrapSpec) inner(args []word) (rest []word, sure bool) {
	sure = true
	skip := spec.skip
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case text == "--":
			i++
			return args[min(i+skip, len(args)):], sure
		case text == "-" && spec.assigns:
			// env - is env -i.
		case len(text) > 1 && text[0] == '-':
			takes, known := spec.option(text)
			sure = sure && known
			if takes {
				i++
			}
		case spec.assigns && isAssign(text):
			return args[i:], sure
		case skip > 0:
			skip--
		default:
			return args[i:], sure
		}
	}
	return nil, sure
}

// option says whether an option takes the next word, and whether that is
// known.
func (spec wrapSpec) option(text string) (takes, known bool) {
	if name, ok := strings.CutPrefix(text, "--"); ok {
		if strings.Contains(name, "=") {
			return false, true
		}
		starts := func(l string) bool { return strings.HasPrefix(strings.TrimPrefix(l, "--"), name) }
		takes = slices.ContainsFunc(spec.long, starts) ||
			slices.ContainsFunc(spec.scripts, func(l string) bool { return strings.HasPrefix(l, "--") && starts(l) })
		return takes, takes || spec.transparent
	}
	if slices.Contains(spec.long, text[1:]) {
		return true, true
	}
	for i, r := range text[1:] {
		if strings.ContainsRune(spec.values, r) || slices.Contains(spec.scripts, "-"+string(r)) {
			return i == len(text)-2, true
		}
	}
	return false, true
}

// cutParallel drops GNU parallel's argument lists.
func cutParallel(words []word) []word {
	if i := slices.IndexFunc(words, func(a word) bool { return strings.HasPrefix(a.text, ":::") }); i >= 0 {
		return words[:i]
	}
	return words
}
