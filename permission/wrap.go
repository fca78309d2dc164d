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
		w.ends(p.cmd)
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
	case name == "history" || name == "fc":
		w.history(p, args, dirs)
	case name == "set" || name == "shopt":
		rewritesLines(p, args)
	case name == "." || name == "source":
		w.scriptFile(p, args, dirs, in)
	case tableName(name) == "find" || tableName(name) == "fd":
		w.findExec(p, args, dirs)
	case name == "git":
		w.gitRun(p, dirs)
	case name == "gh" && len(args) > 0 && args[0].text == "alias":
		w.hints(p)
	case wrapped:
		w.wrapper(p, spec, args, dirs, in)
	case !dataPrograms[name]:
		w.suffixes(p)
		w.hints(p)
	}
	if table, ok := programs[tableName(name)]; ok && !wrapped {
		w.optionRuns(p, table.read(args), dirs)
	}
	if hasSubcommands(name) {
		w.behindOptions(p)
	}
	if name == "go" {
		_, table, args := goOptions(p.cmd)
		w.optionRuns(p, table.read(args), dirs)
	}
	if readsPrograms[tableName(name)] {
		w.hint(p, in.text)
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

// readsPrograms take a program from their standard input that is no shell
// script and may spell commands.
var readsPrograms = set("crontab make python perl ruby node php lua gdb ed ex vi vim tclsh expect sftp lftp ftp gnuplot irb sqlite3 psql mysql")

// ends keeps every end of a command that is not taken apart any further: one of them is what runs.
func (s *script) ends(c command) {
	for i := range c.words {
		s.tails = append(s.tails, c.from(i))
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
func (w *walker) wrapper(p *part, spec wrapper, args []word, dirs cwd, in stdin) {
	if spec.elsewhere {
		dirs = cwd{""}
	}
	if len(spec.subs) > 0 {
		rest := spec.options.read(args).rest
		if len(rest) > 0 && spec.within[rest[0].text] {
			rest = spec.options.read(rest[1:]).rest
		}
		if len(rest) == 0 || !spec.subs[rest[0].text] {
			w.scripts(p, spec.options.read(args), dirs)
			unsure := len(rest) > 0 && !rest[0].sure()
			if unsure {
				p.hazard = "which command of " + p.cmd.name() + " this is, is only known at run time"
			}
			if unsure || slices.ContainsFunc(args, func(a word) bool { return spec.subs[a.text] }) {
				w.suffixes(p)
				w.hints(p)
			}
			return
		}
		args = rest[1:]
	}
	before := len(w.parts)
	r, inner := spec.inner(args)
	if n := len(r.opts); p.cmd.name() == "env" && n > 0 && r.opts[n-1].use == useRuns {
		w.splitString(p, r.opts[n-1].value, inner, dirs)
		return
	}
	sure := !r.open && !slices.ContainsFunc(r.opts, func(o option) bool { return o.use == useUnknown })
	w.scripts(p, r, dirs)
	w.hintsIn(p, args[:len(args)-len(inner)])
	if slices.ContainsFunc(r.opts, func(o option) bool { return o.use == useMoves }) {
		dirs = cwd{""}
	}
	switch {
	case p.cmd.name() == "command" && r.has("v", "V"):
		// It only says where the program is.
		return
	case spec.joined && len(inner) > 0:
		w.hintsIn(p, inner[len(cutParallel(inner)):])
		w.joined(p, cutParallel(inner), dirs)
		if p.cmd.name() == "tmux" {
			w.hintsIn(p, inner)
		}
	case len(inner) > 0:
		w.innerCommand(p, spec, inner, dirs, in)
	case in.piped && len(w.parts) == before && !spec.transparent && !readsNoScript[p.cmd.name()]:
		// Without a command most of them start a shell.
		w.fromInput(p, dirs, in)
	}
	p.transparent = spec.transparent && sure && len(w.parts) > before && p.addsNothing(r)
	if !sure || spec.skip == noCommand && !dataPrograms[p.cmd.name()] || fillsIn[p.cmd.name()] && !spec.joined || p.cmd.name() == "parallel" {
		w.suffixes(p)
	}
}

// noCommand is the skip of wrappers whose command is only in an option.
const noCommand = 99

// readsNoScript are the wrappers that, without a command, leave their standard
// input alone or take it for data.
var readsNoScript = set("env xargs exec ionice npm yarn script just ansible expect")

// addsNothing checks that a transparent wrapper is the real one and writes no
// file of its own.
func (p *part) addsNothing(r reading) bool {
	c := p.cmd
	return len(c.assigns) == 0 && c.words[0].sure() && c.words[0].text == c.name() &&
		!slices.ContainsFunc(r.opts, func(o option) bool { return o.use != useNothing })
}

func (w *walker) innerCommand(p *part, spec wrapper, inner []word, dirs cwd, in stdin) {
	c := command{}
	for spec.assigns && len(inner) > 0 && isAssign(inner[0].text) {
		c.assigns, inner = append(c.assigns, inner[0]), inner[1:]
	}
	if toolsFirst[p.cmd.name()] {
		for len(inner) > 1 && strings.Contains(inner[0].text, "@") {
			inner = inner[1:]
		}
		if i := slices.IndexFunc(inner, func(a word) bool { return a.text == "--" }); i >= 0 && i+1 < len(inner) {
			inner = inner[i+1:]
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

// toolsFirst are the wrappers that name tools before a -- and the command.
var toolsFirst = set("mise rtx asdf nix guix")

// scripts analyses the options that carry a script.
func (w *walker) scripts(p *part, r reading, dirs cwd) {
	for _, o := range r.opts {
		if o.use == useRuns && o.given {
			w.nestedScript(p, o.value, dirs)
		}
	}
}

// inner reads options and operands up to the command.
func (spec wrapper) inner(args []word) (r reading, rest []word) {
	skip := spec.skip
	for {
		more := spec.options.read(args)
		r.opts, r.open = append(r.opts, more.opts...), r.open || more.open
		rest = more.rest
		switch {
		case len(rest) == 0:
			return r, nil
		case spec.assigns && rest[0].text == "-":
			// env - is env -i.
		case spec.assigns && isAssign(rest[0].text) || skip == 0 || skip == spec.skip && spec.first != nil && !spec.first[rest[0].text]:
			return r, rest
		case more.ended:
			return r, rest[min(skip, len(rest)):]
		default:
			skip--
		}
		args = rest[1:]
	}
}

// architectures are those that setarch knows; without one it runs the command as it is.
var architectures = set(`uname26 linux32 linux64 i386 i486 i586 i686 athlon x86_64 x86 ppc ppcle ppc32 ppc32le ppc64 ppc64le s390 s390x
	sparc sparc32 sparc32bash sparc64 mips mips32 mips64 alpha ia64 parisc parisc32 parisc64 hppa hppa64 e2k arm armv7l armv8l armh aarch64
	riscv32 riscv64 loongarch64 sh`)

// cutParallel drops GNU parallel's argument lists.
func cutParallel(words []word) []word {
	if i := slices.IndexFunc(words, func(a word) bool { return strings.HasPrefix(a.text, ":::") }); i >= 0 {
		return words[:i]
	}
	return words
}
