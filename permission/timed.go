package permission

import "mvdan.cc/sh/v3/syntax"

// timed analyses the keyword `time`. What follows it runs in this shell.
func (w *walker) timed(c *syntax.TimeClause, dirs cwd, in stdin) flow {
	if c.Stmt == nil {
		return w.run(&part{kind: partCommand, text: w.text(c), cmd: command{words: []word{plainWord("time")}}}, dirs, in)
	}
	if call, ok := leftmost(c.Stmt).Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == "--" {
		// Bash takes the dashes for the end of the keyword's options, the parser for a command.
		w.fault("shells read what stands between time and its command differently: leave the -- out")
		w.suspect(w.text(c))
		return w.stmt(replaceLeftmost(c.Stmt, &syntax.CallExpr{Args: prepended(c, call.Args)}), dirs, in)
	}
	return w.stmt(c.Stmt, dirs, in)
}

// behindPipe is a pipe's right side as bash reads it: `time` is no keyword there but a program of that name, and all
// that follows are its arguments. The parser takes it for the keyword.
func (w *walker) behindPipe(st *syntax.Stmt) *syntax.Stmt {
	c, ok := st.Cmd.(*syntax.TimeClause)
	if !ok || c.Stmt == nil {
		return st
	}
	first := leftmost(c.Stmt)
	call, ok := first.Cmd.(*syntax.CallExpr)
	if first.Cmd != nil && (!ok || len(call.Assigns) > 0) {
		w.fault("shells read time behind a pipe differently: put it in front of the whole pipeline")
		w.suspect(w.text(st))
		return st
	}
	var args []*syntax.Word
	if call != nil {
		args = call.Args
	}
	return replaceLeftmost(c.Stmt, &syntax.CallExpr{Args: prepended(c, args)})
}

// prepended are the words of a call of the program time.
func prepended(c *syntax.TimeClause, args []*syntax.Word) []*syntax.Word {
	words := []*syntax.Word{literalAt("time", c.Time)}
	if c.PosixFormat {
		words = append(words, literalAt("-p", c.Time))
	}
	return append(words, args...)
}

// leftmost is the first statement of a pipeline, which is all that a keyword in front of the pipeline touches.
func leftmost(st *syntax.Stmt) *syntax.Stmt {
	for {
		b, ok := st.Cmd.(*syntax.BinaryCmd)
		if !ok {
			return st
		}
		st = b.X
	}
}

func replaceLeftmost(st *syntax.Stmt, with syntax.Command) *syntax.Stmt {
	out := *st
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok {
		pipe := *b
		pipe.X = replaceLeftmost(b.X, with)
		with = &pipe
	}
	out.Cmd = with
	return &out
}

func literalAt(text string, at syntax.Pos) *syntax.Word {
	end := syntax.NewPos(at.Offset()+uint(len(text)), at.Line(), at.Col()+uint(len(text)))
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: at, ValueEnd: end, Value: text}}}
}
