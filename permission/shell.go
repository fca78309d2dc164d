package permission

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of the analysis. Beyond them a call asks, and deny is still tried on
// everything that can be found.
const (
	maxCommandBytes = 10_000 // allow
	maxParseBytes   = 30_000 // the parser recurses, and slows down on nesting
	maxNesting      = 40     // depth of the syntax tree
	maxScripts      = 8      // scripts inside scripts
	maxParts        = 300
)

// partKind is what a part of a command line is.
type partKind uint8

const (
	partCommand   partKind = iota // a simple command
	partStatement                 // an assignment, [[ ]], function and the like
	partRead                      // a file read by a redirection
	partWrite                     // a file written by a redirection
)

// part is one thing a command line does that needs permission.
type part struct {
	kind partKind
	text string
	cmd  command
	// parent is the wrapper this command was found in.
	parent *part
	// fed: it came in on the parent's standard input, not from its words.
	fed bool
	// transparent wrappers add nothing and need no rule of their own.
	transparent bool
	// wraps: the command starts others, which are parts of their own.
	wraps bool
	// doubt says why no rule can allow the part.
	doubt string
	// hazard says why only an exact rule can.
	hazard string
	// bareOnly parts can only be covered by the bare tool name.
	bareOnly bool
	// moved: the program is named by a path from where cd led, and the rules' paths are from the workspace.
	moved bool
	// forms are other spellings of the command that a deny must see.
	forms []command
	// plain is the command with harmless options skipped, for allow.
	plain *command
	said  []saying
	heard *heard
	// inner are commands the arguments may spell: a deny there asks.
	inner []command
	// behind are the command without options before its subcommand: a deny there asks, too. They are parts so that what they
	// are matched as is kept.
	behind []*part
	// touches are files the command reads or writes by itself.
	touches []touch
	target  target
}

// touch is a file a program opens.
type touch struct {
	write  bool
	again  bool // of the file before it in the list
	target target
}

// script is one command line being taken apart.
type script struct {
	places *places
	parts  []*part
	// faults are reasons that nothing in the line can be allowed.
	faults []string
	// suspects are commands found by splitting text that could not be parsed;
	// only deny looks at them.
	suspects []command
	// tails are commands wrapped too deeply to be taken apart.
	tails  []command
	linked bool
	// lost: a cd went somewhere that is not known.
	lost bool
	// opened are the files of the command at hand that were looked at.
	opened map[touchKey]bool
	// watch: some rule is about files, so the files of commands matter.
	watch bool
	depth int
}

// cwd is the set of directories a command may run in; "" is unknown.
type cwd []string

// flow is where a statement leaves the shell: after success, and in any case.
type flow struct{ ok, any cwd }

func stay(d cwd) flow { return flow{d, d} }

func (d cwd) plus(other cwd) cwd {
	out := append(cwd{}, d...)
	for _, dir := range other {
		known := false
		for _, have := range out {
			known = known || have == dir
		}
		if !known {
			out = append(out, dir)
		}
	}
	if len(out) > 8 {
		return cwd{""}
	}
	return out
}

func (s *script) fault(format string, args ...any) {
	if len(s.faults) < 16 {
		s.faults = append(s.faults, fmt.Sprintf(format, args...))
	}
}

// script analyses text as a shell script, at the top or inside -c, eval and
// the like.
func (s *script) script(text string, dirs cwd, parent *part) flow {
	return s.scriptFrom(text, dirs, parent, false)
}

// scriptFrom is script; fed says that the parent reads it from its standard
// input.
func (s *script) scriptFrom(text string, dirs cwd, parent *part, fed bool) flow {
	if fed {
		text = unfinished(text)
	}
	if reason := scriptFault(text); reason != "" {
		s.fault("%s", reason)
	}
	if s.depth >= maxScripts {
		s.fault("scripts are nested more than %d deep", maxScripts)
		from := len(s.suspects)
		s.suspect(text)
		for _, c := range s.suspects[from:] {
			s.ends(c)
		}
		return stay(cwd{""})
	}
	if parserTrap(text) {
		s.fault("the command contains something that shells read differently")
	}
	deep := brackets(text) > maxBrackets
	if deep {
		s.fault("the command's brackets nest more than %d deep", maxBrackets)
	}
	if deep || len(text) > maxParseBytes || parserTrap(text) {
		s.suspect(text)
		return stay(cwd{""})
	}
	file, err := parseShell(text)
	if err != nil {
		s.fault("the command cannot be parsed: %s", strings.TrimPrefix(err.Error(), "1:"))
		s.suspect(text)
		return stay(cwd{""})
	}
	if len(file.Stmts) == 0 {
		s.fault("the command is empty")
		return stay(dirs)
	}
	if heredocTrap(text, file) {
		s.fault("where a here-document in the command ends is read differently by shells")
		s.suspect(text)
		return stay(cwd{""})
	}
	s.depth++
	defer func() { s.depth-- }()
	w := &walker{script: s, source: text, parent: parent, fed: fed}
	return w.stmts(file.Stmts, dirs)
}

// unfinished is a script as a shell reads it from a file: a backslash at its very end is dropped, which -c and eval keep.
func unfinished(text string) string {
	if n := len(text) - len(strings.TrimRight(text, `\`)); n%2 == 1 {
		return text[:len(text)-1]
	}
	return text
}

// scriptFault names what makes a command line unfit for approval by a rule.
func scriptFault(text string) string {
	if len(text) > maxCommandBytes {
		return fmt.Sprintf("the command is longer than %d bytes", maxCommandBytes)
	}
	if odd := oddText(text, "\t\n"); odd != "" {
		return "the command contains " + odd
	}
	return ""
}

// parserTrap finds what the parser reads differently from bash: NUL is
// dropped, a carriage return is a blank, a backslash before CR-LF continues
// the line, and so does one at the end of a comment, where bash starts the
// next command.
func parserTrap(text string) bool {
	return strings.ContainsAny(text, "\x00\r") || strings.Contains(text, "#") && commentTrap.MatchString(text)
}

// commentTrap is deliberately blind to quotes: it may ask too often.
var commentTrap = regexp.MustCompile("(?m)(^|[\\s;&|()`{}'\"])#.*\\\\$")

// parsers are large and can be used again. One that panicked is not.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parseShell parses as bash.
func parseShell(text string) (*syntax.File, error) {
	return guarded(func() (*syntax.File, error) {
		p := parsers.Get().(*syntax.Parser)
		file, err := p.Parse(strings.NewReader(text), "")
		parsers.Put(p)
		return file, err
	})
}

// guarded makes a panic of the parser an error like any other.
func guarded(parse func() (*syntax.File, error)) (file *syntax.File, err error) {
	defer func() {
		if recover() != nil {
			file, err = nil, errors.New("the parser failed")
		}
	}()
	return parse()
}

// suspect splits text at everything that could end a command, quotes
// notwithstanding, and keeps the pieces for deny.
func (s *script) suspect(text string) {
	pieces := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";&|()`\n\r{}\x00", r) })
	strip := strings.NewReplacer(`\`, "", `'`, "", `"`, "", ">", " > ", "<", " < ")
	for _, piece := range pieces {
		var words []word
		for _, f := range strings.Fields(strip.Replace(piece)) {
			f = strings.TrimLeft(f, "$")
			if len(words) == 0 && (f == "" || isAssign(f) || setsElement(f) || reserved[f]) {
				continue
			}
			words = append(words, plainWord(f))
		}
		if len(words) > 0 {
			s.suspects = append(s.suspects, command{words: words})
		}
	}
}

// setsElement reports an assignment to an element of an array, which bash lets stand before a command.
func setsElement(s string) bool {
	name, rest, ok := strings.Cut(s, "[")
	return ok && isAssign(name+"=") && (strings.Contains(rest, "]=") || strings.Contains(rest, "]+="))
}

// suspectRun takes one suspected command apart: its redirections first, then
// what it wraps.
func (w *walker) suspectRun(c command) {
	dirs := cwd{w.places.workspace}
	var words []word
	for i := 0; i < len(c.words); i++ {
		text := c.words[i].text
		if (text == ">" || text == "<") && i+1 < len(c.words) {
			kind := partWrite
			if text == "<" {
				kind = partRead
			}
			i++
			for _, t := range w.targets(c.words[i], dirs) {
				w.add(&part{kind: kind, text: text + " " + c.words[i].text, target: t})
			}
			continue
		}
		words = append(words, c.words[i])
	}
	if len(words) > 0 {
		p := &part{kind: partCommand, cmd: command{words: words}}
		p.text = p.cmd.show()
		w.run(p, dirs, stdin{})
	}
}

// reserved are the words that may stand in front of a command.
var reserved = map[string]bool{
	"!": true, "if": true, "then": true, "else": true, "elif": true, "while": true, "until": true, "do": true,
	"time": true, "coproc": true, "function": true, "fi": true, "done": true, "in": true,
}
