package permission

import "mvdan.cc/sh/v3/syntax"

// coproc walks the command of a coprocess.
func (w *walker) coproc(c *syntax.CoprocClause, dirs cwd, in stdin) {
	if c.Name != nil {
		w.nested(c.Name, dirs)
		words := w.expand(c.Name)
		w.setsHome(words[0])
		if c.Stmt.Cmd == nil {
			// Only redirections follow, so that the name is the command.
			for _, r := range c.Stmt.Redirs {
				in = w.feed(r, in)
			}
			w.run(&part{kind: partCommand, text: w.text(c.Name), cmd: command{words: words}}, dirs, in)
			for _, r := range c.Stmt.Redirs {
				w.redirect(r, dirs)
			}
			return
		}
	}
	if w.misread(c) {
		w.fault("shells read this coprocess differently: write its command in braces")
		w.suspect(w.text(c))
	}
	w.stmt(c.Stmt, dirs, in)
}

// misread reports where the parser and bash differ. A name may stand only before a compound command, and what comes
// before anything else is the command's first word; the parser takes that for the name, and assignments behind it for
// ones in front of it.
func (w *walker) misread(c *syntax.CoprocClause) bool {
	switch cmd := c.Stmt.Cmd.(type) {
	case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause,
		*syntax.ArithmCmd, *syntax.TestClause:
		return false
	case *syntax.CallExpr:
		return c.Name != nil || len(cmd.Args) > 1 && isAssign(w.text(cmd.Args[0])) || len(cmd.Args) > 0 && len(cmd.Assigns) > 0 && cmd.Assigns[0].Pos().After(cmd.Args[0].Pos())
	default:
		return c.Name != nil
	}
}
