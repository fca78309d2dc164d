package permission

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// walker goes through one parsed script in the order of execution, keeping
// track of the directory.
type walker struct {
	*script
	source string
	parent *part
	fed    bool // the script is the parent's standard input
	depth  int
}

func (w *walker) stmts(list []*syntax.Stmt, dirs cwd) flow {
	f := stay(dirs)
	for _, st := range list {
		f = w.stmt(st, f.any, stdin{})
	}
	return f
}

// stdin is what is piped into a statement.
type stdin struct {
	piped bool
	text  string // the text, when it is known
	known bool
	other string // what other descriptors are given
}

func (w *walker) stmt(st *syntax.Stmt, dirs cwd, in stdin) flow {
	if w.depth++; w.depth > maxNesting {
		w.fault("the command nests more than %d deep", maxNesting)
	}
	defer func() { w.depth-- }()
	for _, r := range st.Redirs {
		in = w.feed(r, in)
	}
	var f flow
	if st.Cmd == nil {
		w.add(&part{kind: partStatement, text: w.text(st), bareOnly: true})
		f = stay(dirs)
	} else {
		f = w.command(st.Cmd, dirs, in)
	}
	for _, r := range st.Redirs {
		w.redirect(r, dirs)
	}
	if st.Background || st.Coprocess {
		return stay(dirs)
	}
	if st.Negated {
		return stay(f.any)
	}
	return f
}

func (w *walker) command(c syntax.Command, dirs cwd, in stdin) flow {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return w.call(c, dirs, in)
	case *syntax.BinaryCmd:
		return w.binary(c, dirs, in)
	case *syntax.Block:
		return w.stmtsWith(c.Stmts, dirs, in)
	case *syntax.Subshell:
		w.stmtsWith(c.Stmts, dirs, in)
		return stay(dirs)
	case *syntax.IfClause:
		return w.ifClause(c, dirs)
	case *syntax.WhileClause:
		return w.loop(dirs, c.Cond, c.Do)
	case *syntax.ForClause:
		w.forHead(c, dirs)
		return w.loop(dirs, nil, c.Do)
	case *syntax.CaseClause:
		return w.caseClause(c, dirs)
	case *syntax.TimeClause:
		return w.timed(c, dirs, in)
	case *syntax.CoprocClause:
		w.coproc(c, dirs, in)
		return stay(dirs)
	case *syntax.FuncDecl:
		if c.Name == nil {
			c.Name = &syntax.Lit{}
			w.fault("a function has no name, which shells read differently")
		}
		text := c.Name.Value + "()"
		if w.depth <= maxNesting { // where it ends is looked up through all that is in it
			text = w.text(c)
		}
		w.add(&part{kind: partStatement, text: text, bareOnly: true})
		after := w.stmt(c.Body, dirs, stdin{})
		if len(after.any) != len(dirs) || movers[c.Name.Value] {
			// It may be called from anywhere later, or be what moves from now on.
			return stay(cwd{""})
		}
		return stay(dirs)
	default:
		w.statement(c, dirs)
		return stay(dirs)
	}
}

func (w *walker) stmtsWith(list []*syntax.Stmt, dirs cwd, in stdin) flow {
	f := stay(dirs)
	for _, st := range list {
		f = w.stmt(st, f.any, in)
	}
	return f
}

func (w *walker) binary(c *syntax.BinaryCmd, dirs cwd, in stdin) flow {
	w.depth-- // a chain grows to the left, and is not nested for that
	defer func() { w.depth++ }()
	switch c.Op {
	case syntax.AndStmt:
		x := w.stmt(c.X, dirs, in)
		y := w.stmt(c.Y, x.ok, in)
		return flow{y.ok, x.any.plus(y.any)}
	case syntax.OrStmt:
		x := w.stmt(c.X, dirs, in)
		y := w.stmt(c.Y, x.any, in)
		return flow{x.ok.plus(y.ok), x.any.plus(y.any)}
	default:
		w.stmt(c.X, dirs, in)
		last := w.stmt(w.behindPipe(c.Y), dirs, w.piped(c.X))
		return stay(dirs.plus(last.any)) // with lastpipe it runs in this shell
	}
}

func (w *walker) ifClause(c *syntax.IfClause, dirs cwd) flow {
	cond := w.stmts(c.Cond, dirs)
	then := w.stmts(c.Then, cond.any)
	all := cond.any.plus(then.any)
	if c.Else != nil {
		if w.depth++; w.depth > maxNesting {
			w.fault("the command nests more than %d deep", maxNesting)
		}
		other := w.ifClause(c.Else, cond.any)
		w.depth--
		all = all.plus(other.any)
	}
	return stay(all)
}

// loop walks the body once. When it moves, the second round starts elsewhere.
func (w *walker) loop(dirs cwd, cond, body []*syntax.Stmt) flow {
	c := w.stmts(cond, dirs)
	b := w.stmts(body, c.any)
	all := dirs.plus(c.any).plus(b.any)
	if len(all) > len(dirs) {
		w.fault("a loop changes the directory")
	}
	return stay(all)
}

func (w *walker) caseClause(c *syntax.CaseClause, dirs cwd) flow {
	w.data(c.Word, dirs)
	all := dirs
	for _, item := range c.Items {
		for _, pattern := range item.Patterns {
			w.data(pattern, dirs)
		}
		all = all.plus(w.stmts(item.Stmts, all).any)
	}
	return stay(all)
}

// forHead checks what a loop's head does: arithmetic, or setting a variable
// that programs read.
func (w *walker) forHead(c *syntax.ForClause, dirs cwd) {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		for _, item := range l.Items {
			w.data(item, dirs)
		}
		name := l.Name.Value
		w.setsHome(plainWord(name))
		if strings.ContainsFunc(name, unicode.IsUpper) || strings.HasSuffix(name, "_proxy") {
			w.add(&part{kind: partStatement, text: "for " + name, bareOnly: true})
		}
	case *syntax.CStyleLoop:
		w.statement(l, dirs)
	}
}

// statement is a part that is no program: [[ ]], (( )), let, declare and the
// arithmetic of a for loop.
func (w *walker) statement(n syntax.Node, dirs cwd) {
	w.nested(n, dirs)
	p := &part{kind: partStatement, text: w.text(n)}
	switch n := n.(type) {
	case *syntax.DeclClause:
		p.kind = partCommand
		p.cmd.words = append(p.cmd.words, plainWord(n.Variant.Value))
		for _, a := range n.Args {
			set := assignWord(a)
			p.cmd.words = append(p.cmd.words, set)
			w.setsHome(set)
			w.hiddenIn(p, set)
		}
		w.hiddenText(p)
		w.finish(p, dirs)
	default:
		for _, f := range strings.Fields(p.text) {
			p.cmd.words = append(p.cmd.words, plainWord(f))
		}
		if _, let := n.(*syntax.LetClause); let && strings.ContainsAny(p.text, "|&<>();") {
			w.fault("what follows let is a pipe or a redirection to bash, and arithmetic to others")
			w.suspect(p.text)
		}
		p.hazard = "shell arithmetic and tests evaluate more than their text shows"
		if unresolved(n) {
			p.doubt = "it contains something that is only known at run time"
		}
		if strings.Contains(p.text, "$(") || strings.Contains(p.text, "`") {
			w.suspect(p.text)
		}
	}
	w.add(p)
}

// unresolved reports whether a node contains anything the shell computes.
func unresolved(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
			found = true
		}
		return !found
	})
	return found
}

// data is text that is no part's word, such as a here-document: what it holds needs no rule, but what the shell
// does to get at it might run any command.
func (w *walker) data(n syntax.Node, dirs cwd) {
	w.nested(n, dirs)
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false // commands, with words of their own
		case *syntax.ArithmExp:
			w.fault("%s is arithmetic, which runs the commands in what variables hold", w.text(n))
		case *syntax.ParamExp:
			if computes(n) {
				w.fault("%s sets a variable or evaluates what one holds", w.text(n))
			}
		}
		return true
	})
}

// computes reports whether an expansion does more than look up a variable and change its text.
func computes(p *syntax.ParamExp) bool {
	if p.Excl || p.Slice != nil || p.Exp != nil && slices.Contains(computing, p.Exp.Op) {
		return true
	}
	index, plain := p.Index.(*syntax.Word)
	return p.Index != nil && !(plain && (index.Lit() == "@" || index.Lit() == "*"))
}

var computing = []syntax.ParExpOperator{syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.OtherParamOps}

// nested finds the commands inside substitutions, however deep in the words.
func (w *walker) nested(n syntax.Node, dirs cwd) {
	if word, ok := n.(*syntax.Word); ok && word.Lit() != "" {
		return // nothing but text
	}
	w.depth++
	defer func() { w.depth-- }()
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.inside(n.Stmts, dirs)
			return false
		case *syntax.ProcSubst:
			w.inside(n.Stmts, dirs)
			return false
		case *syntax.ArithmExp:
			// $[ ] and $(( )) evaluate subscripts found in quoted text.
			if text := w.text(n); strings.ContainsAny(text, "'\"") {
				w.suspect(text)
			}
		}
		return true
	})
}

// inside walks a substitution. $(<file) is a redirection alone and only reads,
// which its redirection part says.
func (w *walker) inside(list []*syntax.Stmt, dirs cwd) {
	if len(list) == 1 && list[0].Cmd == nil && len(list[0].Redirs) == 1 && list[0].Redirs[0].Op == syntax.RdrIn {
		w.redirect(list[0].Redirs[0], dirs)
		return
	}
	w.stmts(list, dirs)
}

func (w *walker) text(n syntax.Node) string {
	to := min(int(n.End().Offset()), len(w.source))
	return w.source[min(int(n.Pos().Offset()), to):to]
}

func (w *walker) add(p *part) *part {
	if p.parent == nil {
		p.parent, p.fed = w.parent, w.fed
	}
	w.parts = append(w.parts, p)
	return p
}

func assignWord(a *syntax.Assign) word {
	var b wordBuilder
	if a.Name != nil {
		b.literal(a.Name.Value)
	}
	if a.Index != nil {
		b.unknown(false)
	}
	if a.Naked {
		if a.Value != nil {
			b.parts(a.Value.Parts, false)
		}
		return b.done()
	}
	if a.Append {
		b.char('+')
	}
	b.char('=')
	if a.Array != nil {
		b.unknown(false)
	}
	if a.Value != nil {
		b.parts(a.Value.Parts, false)
	}
	v := b.done()
	// A value is not split and not a file glob.
	v.glob = false
	return v
}

// call is a simple command, or a bare assignment.
func (w *walker) call(c *syntax.CallExpr, dirs cwd, in stdin) flow {
	p := &part{kind: partCommand, text: w.text(c)}
	for _, a := range c.Assigns {
		w.nested(a, dirs)
		p.cmd.assigns = append(p.cmd.assigns, assignWord(a))
		if a.Name == nil || !isAssign(a.Name.Value+"=") {
			// The parser is laxer than bash, which runs \x=1 as a program.
			p.doubt = "it is not clear whether this is an assignment or a command"
		}
	}
	for _, arg := range c.Args {
		w.nested(arg, dirs)
		p.cmd.words = append(p.cmd.words, w.expand(arg)...)
	}
	if len(p.cmd.words) == 0 {
		p.kind = partStatement
		w.doubtWords(p)
		for _, a := range p.cmd.assigns {
			w.hiddenIn(p, a)
			w.setsHome(a)
		}
		w.add(p)
		return stay(dirs)
	}
	return w.run(p, dirs, in)
}

// run judges one simple command's words and what they start.
func (w *walker) run(p *part, dirs cwd, in stdin) flow {
	w.finish(p, dirs)
	if w.watch && takesNames[p.cmd.name()] {
		p.touches = append(p.touches, w.guesses([]word{plainWord(in.text)}, dirs)...)
	}
	w.add(p)
	w.unwrap(p, dirs, in)
	w.setsHomeByName(p.cmd)
	w.linked = w.linked || p.cmd.name() == "ln"
	return w.moved(p, dirs)
}
