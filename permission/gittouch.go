package permission

import (
	"regexp"
	"strings"
)

var (
	// gitReaders are the subcommands that print the files they are given.
	gitReaders = set("show diff log blame annotate cat-file grep hash-object archive diff-tree diff-index diff-files apply am whatchanged mv difftool")
	// gitWriters change the files they are given, or make files there.
	gitWriters = set("checkout restore mv rm clean init clone bundle worktree mailsplit")
)

// gitTouches: show, diff, blame and the like print files; checkout, mv and rm
// change them.
func (s *script) gitTouches(c command, dirs cwd) []touch {
	rest, _, _ := gitWords(c)
	if len(rest.words) < 2 {
		return nil
	}
	dirs = movedBy(gitGlobals.read(c.words[1:]), dirs)
	sub, args := rest.words[1].text, rest.words[2:]
	table, ok := gitTables[sub]
	if !ok {
		table = noOptions
	}
	r := table.read(args)
	out := append(s.optionTouches(r, dirs), s.optionGuesses(args, dirs)...)
	if sub == "grep" && len(r.operands) < 2 || sub == "archive" || sub == "checkout-index" {
		out = append(out, s.touch(plainWord("."), dirs, sub == "checkout-index", true, false)...)
	}
	if sub == "grep" && len(r.operands) < 2 {
		return out
	}
	for _, o := range r.operands {
		if gitReaders[sub] {
			for _, file := range gitFiles(o) {
				out = append(out, s.touch(file, dirs, false, sub == "grep", false)...)
			}
		}
		if gitWriters[sub] {
			// A branch may have the name; only what it may be is known.
			out = append(out, s.touch(o, dirs, true, false, sub == "checkout")...)
		}
	}
	return out
}

// pathMagic is how git begins a path that means more than a file: :/ and :(top) are the top of the work tree.
var pathMagic = regexp.MustCompile(`^:(\([^)]*\)|[/!^]+:?)`)

// gitFiles are the files that an operand of git may mean: itself, what follows each colon, as in HEAD:file and :0:file, and all
// that a wildcard finds, which git sees to and not the shell.
func gitFiles(o word) []word {
	text := o.text
	if magic := pathMagic.FindString(text); magic != "" {
		if strings.ContainsAny(magic, "!^") || strings.Contains(magic, "exclude") {
			return nil // what it leaves out
		}
		text = text[len(magic):]
	}
	out := []word{o}
	for _, file := range append([]string{text}, colonTails(text)...) {
		if file == "" || file == o.text && !strings.ContainsAny(file, "*?[") {
			continue
		}
		out = append(out, gitGlob(file))
	}
	return out
}

// maxColons bounds the colons of an operand at which a path may begin.
const maxColons = 8

func colonTails(text string) (out []string) {
	for range maxColons {
		_, rest, ok := strings.Cut(text, ":")
		if !ok {
			return out
		}
		out, text = append(out, rest), rest
	}
	return append(out, "*")
}

// gitGlob is a path in which * crosses directories.
func gitGlob(file string) word {
	if !strings.ContainsAny(file, "*?[") {
		return plainWord(file)
	}
	var b wordBuilder
	for file != "" {
		at := strings.IndexAny(file, "*?[")
		if at < 0 {
			b.literal(file)
			break
		}
		b.literal(file[:at])
		b.unknown(true)
		file = file[at+1:]
		if _, behind, ok := strings.Cut(file, "]"); ok {
			file = behind
		}
	}
	return b.done()
}
