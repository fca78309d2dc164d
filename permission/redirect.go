package permission

import (
	"path"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// feed is what a redirection puts on standard input.
func (w *walker) feed(r *syntax.Redirect, in stdin) stdin {
	fed := w.given(r, in)
	if r.N != nil && strings.TrimLeft(r.N.Value, "0") != "" {
		// Another descriptor; a later <& may make it the standard input.
		in.other += "\n" + fed.text
		return in
	}
	fed.other = in.other
	if r.Op == syntax.DplIn {
		fed.text = in.text + "\n" + in.other
	}
	return fed
}

func (w *walker) given(r *syntax.Redirect, in stdin) stdin {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return stdin{piped: true, known: true}
		}
		var b wordBuilder
		quoted := len(w.expand(r.Word)) == 1 && r.Word.Lit() == "" || strings.ContainsRune(r.Word.Lit(), '\\')
		if quoted {
			for _, p := range r.Hdoc.Parts {
				b.literal(p.(*syntax.Lit).Value) // nothing is expanded in it
			}
		} else {
			b.parts(r.Hdoc.Parts, true)
		}
		doc := b.done()
		return stdin{piped: true, text: doc.text, known: doc.sure()}
	case syntax.WordHdoc:
		doc := buildWord(r.Word.Parts)
		return stdin{piped: true, text: doc.text, known: doc.sure()}
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
		return stdin{piped: true}
	default:
		return in
	}
}

// piped is what the left side of a pipe writes, when that is plain from the
// text: the last command is echo or printf with fixed words.
func (w *walker) piped(st *syntax.Stmt) stdin {
	out := stdin{piped: true}
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok {
		st = b.Y
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok {
		return out
	}
	var words []word
	for _, a := range call.Args {
		words = append(words, w.expand(a)...)
	}
	if len(words) == 1 && words[0].text == "cat" {
		for _, r := range st.Redirs {
			out = w.feed(r, out)
		}
		return out
	}
	if len(words) < 2 || words[0].text != "echo" && words[0].text != "printf" {
		return out
	}
	var texts []string
	for i, a := range words[1:] {
		if !a.sure() {
			return out
		}
		if i == 0 && words[0].text == "echo" && strings.Trim(a.text, "-neE") == "" && a.text != "" {
			continue
		}
		texts = append(texts, a.text)
	}
	text := strings.Join(texts, " ")
	decoded, _ := decodeANSI(text)
	if strings.Contains(text, `\`) || strings.Contains(text, "%") {
		// The format may be read either way; both are looked at.
		return stdin{piped: true, text: decoded + "\n" + strings.ReplaceAll(text, "%s", "\n")}
	}
	return stdin{piped: true, text: text, known: true}
}

// redirect adds the file a redirection opens as a part of its own.
func (w *walker) redirect(r *syntax.Redirect, dirs cwd) {
	switch {
	case r.Hdoc != nil:
		w.data(r.Hdoc, dirs)
	case r.Op == syntax.WordHdoc:
		w.data(r.Word, dirs)
	default:
		w.nested(r.Word, dirs)
	}
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		w.fault("a redirection sets the variable %s", r.N.Value)
	}
	kind := partWrite
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		if descriptor(r.Word) {
			return
		}
		if !plainLiteral(r.Word) {
			w.twiceExpanded(r.Word)
		}
		if r.Op == syntax.DplIn {
			kind = partRead
		}
	case syntax.RdrIn:
		kind = partRead
	default:
		// >, >>, >|, &>, &>> and <> write.
	}
	words := w.expand(r.Word)
	if len(words) == 0 {
		w.fault("a redirection has no target")
		words = []word{unknownWord()}
	}
	to := words[0]
	if len(words) == 1 && to.sure() && to.text == "/dev/null" {
		return
	}
	for _, t := range w.targets(to, dirs) {
		if len(words) != 1 || !to.sure() {
			t.fault = "the redirection's target is only known at run time"
		}
		if strings.HasPrefix(t.clean, "/dev/tcp") || strings.HasPrefix(t.clean, "/dev/udp") {
			t.fault = "the redirection opens a network connection"
		}
		p := w.add(&part{kind: kind, text: w.text(r), target: t})
		if r.Op == syntax.RdrInOut {
			p.touches = []touch{{target: t}}
		}
	}
}

// descriptor reports whether the word after >& or <& is a descriptor as
// written: digits, a dash, or both.
func descriptor(w *syntax.Word) bool {
	return plainLiteral(w) && descriptorText.MatchString(w.Parts[0].(*syntax.Lit).Value)
}

var descriptorText = regexp.MustCompile(`^([0-9]+-?|-)$`)

// plainLiteral reports whether a word is one piece of text without quotes and
// backslashes.
func plainLiteral(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	l, ok := w.Parts[0].(*syntax.Lit)
	return ok && l.Value != "" && !strings.Contains(l.Value, `\`)
}

// twiceExpanded is the word after >& and <&: bash expands what it became once
// more, so that quoted text runs.
func (w *walker) twiceExpanded(r *syntax.Word) {
	w.fault("the shell expands the quoted or computed word after >& or <& twice")
	for _, a := range w.expand(r) {
		w.suspect(strings.ReplaceAll(a.text, string(opaqueMark), " "))
	}
}

// targets places one file word in every directory it may be relative to.
func (s *script) targets(word word, dirs cwd) []target {
	text := word.text
	if !word.tilde && strings.HasPrefix(text, "~") {
		text = "./" + text
	}
	if word.sure() && (strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~")) {
		dirs = dirs[:1]
	}
	var out []target
	for _, dir := range dirs {
		if word.sure() {
			out = append(out, s.exact(text, dir))
			continue
		}
		t := target{shown: strings.ReplaceAll(text, string(opaqueMark), "…"), fault: "the path is only known at run time"}
		t.glob = s.globOf(word, dir)
		out = append(out, t)
	}
	return out
}

// exact locates a path the shell has already unquoted: a dollar or backslash
// in it is the character.
func (s *script) exact(text, dir string) target {
	t := s.places.locate(text, dir)
	if t.clean == "" && dir == "" && text != "" {
		t.glob = sequence{{op: opDeep}}
	}
	return t
}

// globOf is the absolute pattern of a word that the shell expands, folded.
func (s *script) globOf(word word, dir string) sequence {
	q := word.possible.folded()
	if len(q) > 0 && q[0].op == opLit && q[0].r == '/' {
		return q
	}
	if word.tilde && len(q) > 1 && q[1].op == opLit && q[1].r == '/' && s.places.home != "" {
		return append(literal(foldString(s.places.home)), q[1:]...)
	}
	if dir == "" || word.tilde || len(q) == 0 || q[0].op == opDeep && word.dynamic {
		return sequence{{op: opDeep}}
	}
	for len(q) > 1 && q[0].op == opLit && q[0].r == '.' && q[1].op == opLit && q[1].r == '/' {
		q = q[2:]
	}
	if hasUp(q) {
		return sequence{{op: opDeep}}
	}
	root := strings.TrimSuffix(foldString(path.Clean(dir)), "/")
	out := append(literal(root+"/"), q...)
	return out
}

// hasUp finds .. in a pattern, which can lead anywhere.
func hasUp(q sequence) bool {
	for i := 0; i+1 < len(q); i++ {
		if q[i].op == opLit && q[i].r == '.' && q[i+1].op == opLit && q[i+1].r == '.' {
			return true
		}
	}
	return false
}
