package permission

import "strings"

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
			out = append(out, s.touch(o, dirs, false, sub == "grep", false)...)
			if _, file, ok := strings.Cut(o.text, ":"); ok && file != "" {
				out = append(out, s.touch(plainWord(file), dirs, false, false, false)...)
			}
		}
		if gitWriters[sub] {
			// A branch may have the name; only what it may be is known.
			out = append(out, s.touch(o, dirs, true, false, sub == "checkout")...)
		}
	}
	return out
}
