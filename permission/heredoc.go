package permission

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// plainStop are the stop words of here-documents that every shell reads alike.
var plainStop = regexp.MustCompile(`^(?:\\?[A-Za-z0-9_.%+-]+|'[A-Za-z0-9_.%+ -]+'|"[A-Za-z0-9_.%+ -]+")$`)

// heredocTrap reports whether a here-document may end in another line than the parser saw. Bash reads it line by line, after lines
// that end in a backslash are joined, and looks into it only then; the parser has substitutions reach beyond the stop word, and
// takes what follows one for a line of its own. What one of them takes for text, the other runs.
func heredocTrap(source string, file *syntax.File) bool {
	if !strings.Contains(source, "<<") {
		return false
	}
	trap := false
	syntax.Walk(file, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Redirect); ok && (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) {
			trap = trap || !endsPlainly(source, r) || r.Hdoc != nil && quotesInside(r.Hdoc)
		}
		return !trap
	})
	return trap
}

// quotesInside reports single quotes in the expansions of a here-document. They quote nothing there, though the parser believes so.
func quotesInside(body *syntax.Word) bool {
	found := false
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.SglQuoted:
			found = true
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false // a script, in which they do
		}
		return !found
	})
	return found
}

// endsPlainly reports whether the first line in a here-document that could be its stop word is just that, and is where it ends.
func endsPlainly(source string, r *syntax.Redirect) bool {
	word := source[r.Word.Pos().Offset():min(int(r.Word.End().Offset()), len(source))]
	if !plainStop.MatchString(word) {
		return false
	}
	if r.Hdoc == nil {
		return true // its first line is the stop word
	}
	stop := strings.Trim(word, `\'"`)
	quoted := stop != word // no lines are joined
	at, end := int(r.Hdoc.Pos().Offset()), min(int(r.Hdoc.End().Offset()), len(source))
	for strings.HasSuffix(source[:at], "\\\n") {
		at -= 2
	}
	joined := ""
	for at <= len(source) {
		line, _, _ := strings.Cut(source[at:], "\n")
		plain := line
		if r.Op == syntax.DashHdoc {
			plain = strings.TrimLeft(line, "\t")
		}
		if plain == stop && joined == "" {
			return at+len(line) == end
		}
		at += len(line) + 1
		if quoted {
			continue
		}
		text := strings.TrimRight(plain, `\`)
		if joined += text; strings.TrimLeft(joined, "\t") == stop || plain == stop {
			return false
		}
		switch {
		case text == plain:
			joined = ""
		case joined == "":
			joined = "\t" // nothing yet, and still the line goes on
		case !strings.HasPrefix(stop, strings.TrimLeft(joined, "\t")):
			joined = "\x00" // it can't become the stop word any more
		}
	}
	return false
}
