package permission

import (
	"path"
	"slices"
	"strings"
)

// fileUse says how a program treats its operands.
type fileUse struct {
	// reads or writes its operands.
	reads, writes bool
	// lastWritten: all operands but the last are read, the last is written.
	lastWritten bool
	// removes: what it reads is also changed (mv).
	removes bool
	// skip is how many operands come before the files; a flag among unless
	// takes their place.
	skip   int
	unless string
	// tree: operands are whole directories; treeFlags make them so.
	tree      bool
	treeFlags string
	// here: without operands it reads the current directory, when tree.
	here bool
}

var fileUses = map[string]fileUse{
	"tee": {writes: true}, "truncate": {writes: true}, "shred": {writes: true}, "touch": {writes: true},
	"mkdir": {writes: true}, "rmdir": {writes: true}, "rm": {writes: true, treeFlags: "rR"}, "unlink": {writes: true},
	"chmod": {writes: true, skip: 1, treeFlags: "R"}, "chown": {writes: true, skip: 1, treeFlags: "R"},
	"chgrp": {writes: true, skip: 1, treeFlags: "R"}, "mktemp": {writes: true},
	"cp": {lastWritten: true, treeFlags: "rRa"}, "mv": {lastWritten: true, removes: true, tree: true},
	"install": {lastWritten: true}, "ln": {lastWritten: true}, "rsync": {lastWritten: true, treeFlags: "ra"},
	"scp": {lastWritten: true, treeFlags: "r"}, "link": {lastWritten: true},
	"grep": grepUse, "egrep": grepUse, "fgrep": grepUse, "zgrep": grepUse, "ugrep": grepUse,
	"rg": treeGrep, "ag": treeGrep, "ack": treeGrep, "ripgrep": treeGrep,
	"sed": {reads: true, skip: 1, unless: "ef"}, "awk": awkUse, "gawk": awkUse, "mawk": awkUse, "nawk": awkUse,
	"jq": {reads: true, skip: 1, unless: "f"}, "yq": {reads: true, skip: 1},
	"tar": {reads: true, tree: true}, "zip": {reads: true, tree: true}, "7z": {reads: true, tree: true}, "bsdtar": {reads: true, tree: true},
	"diff": {reads: true, treeFlags: "r"}, "dd": {}, "patch": {writes: true},
}

var (
	grepUse  = fileUse{reads: true, skip: 1, unless: "ef", treeFlags: "rR", here: true}
	treeGrep = fileUse{reads: true, skip: 1, unless: "ef", tree: true, here: true}
	awkUse   = fileUse{reads: true, skip: 1, unless: "f"}
)

// readers read every operand.
var readers = set(`cat tac head tail less more most bat batcat nl od xxd hexdump hd strings base64 base32 basenc md5sum
	sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum wc sort uniq cut paste join comm cmp diff3 sdiff
	colordiff vimdiff column fold fmt rev split csplit pr expand unexpand shuf look iconv zcat bzcat xzcat zless
	zmore view vi vim nvim nano emacs ed ex code open xdg-open pbcopy source . file gzip bzip2 xz zstd gpg openssl
	mapfile readarray delta glow pygmentize highlight tsort numfmt uuencode qrencode`)

// quiet programs take operands that are text, or names whose content they
// don't show.
var quiet = set(`echo printf true false : test [ cd pushd popd ls dir stat du df tree which type kill sleep basename
	dirname realpath readlink pwd seq yes export declare unset set alias trap exit return npm yarn pnpm`)

// touchKey tells the touches of one command apart.
type touchKey struct {
	text                              string
	tilde, sure, write, spread, loose bool
}

// touched lists the files a command opens by itself, as far as its words say.
func (s *script) touched(c command, dirs cwd) []touch {
	if len(c.words) == 0 {
		return nil
	}
	s.opened = map[touchKey]bool{}
	name, args := c.name(), c.words[1:]
	use, known := fileUses[name]
	switch {
	case name == "git":
		return s.gitTouches(c, dirs)
	case name == "find" || name == "gfind" || name == "bfind":
		return s.findTouches(args, dirs)
	case name == "dd":
		return s.ddTouches(args, dirs)
	case name == "curl" || name == "wget":
		return append(s.attached(args, dirs), s.guesses(args, dirs)...)
	case readers[name]:
		use = fileUse{reads: true}
	case !known:
		if quiet[name] {
			return nil
		}
		return s.guesses(args, dirs)
	}
	out := s.operandTouches(use, name, args, dirs)
	if manyOptions[name] || name == "sed" && sedHazard(c) != "" {
		out = append(out, s.guesses(args, dirs)...)
	}
	return out
}

// operandTouches applies a program's use to its operands.
func (s *script) operandTouches(use fileUse, name string, args []word, dirs cwd) []touch {
	operands, flags := splitOperands(args)
	spread := use.tree || hasFlag(flags, use.treeFlags, "recursive")
	if slices.ContainsFunc(args, func(f word) bool {
		return f.text == "recurse" || f.text == "-drecurse" || f.text == "--directories=recurse" || f.text == "--archive"
	}) {
		spread = true
	}
	if use.skip > 0 && !hasFlag(flags, use.unless, "regexp") && !hasFlag(flags, "", "expression") && !hasFlag(flags, "", "file") {
		operands = operands[min(use.skip, len(operands)):]
	}
	out := s.flagValues(flags, dirs, use.writes)
	if use.here && spread && len(operands) == 0 {
		operands = []word{plainWord(".")}
	}
	if use.lastWritten {
		return append(out, s.copyTouches(use, name, operands, args, dirs, spread)...)
	}
	inPlace := name == "sed" && (hasFlag(flags, "i", "in-place"))
	for _, o := range operands {
		if use.reads {
			out = append(out, s.touch(o, dirs, false, spread, false)...)
		}
		if use.writes || inPlace {
			out = append(out, s.touch(o, dirs, true, spread, false)...)
		}
	}
	if name == "uniq" && len(operands) > 1 {
		out = append(out, s.touch(operands[1], dirs, true, false, false)...)
	}
	return out
}

// copyTouches: sources are read, the target is written, and so is a source's
// name inside the target when that is a directory.
func (s *script) copyTouches(use fileUse, name string, operands, args []word, dirs cwd, spread bool) []touch {
	var out []touch
	sources, targets := operands, []word(nil)
	for i, a := range args {
		value, attached := strings.CutPrefix(a.text, "--target-directory=")
		switch {
		case attached:
			targets = append(targets, plainWord(value))
		case (a.text == "-t" || a.text == "--target-directory") && i+1 < len(args):
			targets = append(targets, args[i+1])
		}
	}
	if targets == nil && len(operands) > 1 {
		sources, targets = operands[:len(operands)-1], operands[len(operands)-1:]
	}
	for _, src := range sources {
		out = append(out, s.touch(src, dirs, false, spread, false)...)
		if use.removes {
			out = append(out, s.touch(src, dirs, true, spread, false)...)
		}
	}
	for _, to := range targets {
		out = append(out, s.touch(to, dirs, true, false, false)...)
		for _, src := range sources {
			if name == "ln" && src.sure() && to.sure() && !path.IsAbs(src.text) {
				// A symbolic link's text is relative to where the link is.
				linked := to
				linked.text = path.Dir(to.text) + "/" + src.text
				out = append(out, s.touch(linked, dirs, false, spread, false)...)
			}
			if src.sure() && to.sure() {
				inside := to
				inside.text = strings.TrimSuffix(to.text, "/") + "/" + path.Base(src.text)
				out = append(out, s.touch(inside, dirs, true, false, false)...)
			}
		}
	}
	return out
}

func (s *script) touch(o word, dirs cwd, write, spread, loose bool) []touch {
	key := touchKey{o.text, o.tilde, o.sure(), write, spread, loose}
	if s.opened[key] || !s.places.work.within(&s.places.work.touches, len(dirs), maxTouches) {
		return nil
	}
	s.opened[key] = true
	var out []touch
	for _, t := range s.targets(o, dirs) {
		t.spread, t.loose = spread, loose
		if t.glob != nil && spread {
			t.glob = append(slices.Clone(t.glob), token{op: opDeep})
		}
		out = append(out, touch{write, t})
	}
	return out
}

func splitOperands(args []word) (operands, flags []word) {
	for i, a := range args {
		if a.text == "--" {
			return append(operands, args[i+1:]...), flags
		}
		if len(a.text) > 1 && a.text[0] == '-' {
			flags = append(flags, a)
		} else {
			operands = append(operands, a)
		}
	}
	return operands, flags
}

func hasFlag(flags []word, letters, long string) bool {
	for _, f := range flags {
		name, isLong := strings.CutPrefix(f.text, "--")
		if isLong {
			name, _, _ = strings.Cut(name, "=")
			if len(name) > 2 && strings.HasPrefix(long, name) || name == "dereference-recursive" && long == "recursive" {
				return true
			}
			continue
		}
		if letters != "" && strings.ContainsAny(f.text[1:], letters) {
			return true
		}
	}
	return false
}

// flagValues are the values glued to options; whether they are files is a
// guess, so they can make a call ask and not deny it.
func (s *script) flagValues(flags []word, dirs cwd, write bool) []touch {
	var out []touch
	for _, f := range flags {
		value := ""
		if name, v, ok := strings.Cut(f.text, "="); ok && name != "--exclude" && name != "--exclude-dir" && name != "--include" && name != "--glob" {
			value = v
		} else if !ok && f.text[1] != '-' && len(f.text) > 2 {
			value = f.text[2:]
		}
		if value == "" || strings.ContainsRune(value, opaqueMark) {
			continue
		}
		w := plainWord(value)
		w.tilde = strings.HasPrefix(value, "~")
		out = append(out, s.touch(w, dirs, write, false, true)...)
	}
	return out
}

// attached finds files behind @, file:// and data flags (curl -d @file).
func (s *script) attached(args []word, dirs cwd) []touch {
	var out []touch
	for i, a := range args {
		text := a.text
		if _, after, ok := strings.Cut(text, "file://"); ok {
			out = append(out, s.touch(plainWord(after), dirs, false, false, false)...)
		}
		if at := strings.IndexAny(text, "@<"); at >= 0 && (at == 0 || text[at-1] == '=' || strings.HasPrefix(text, "-")) && at+1 < len(text) {
			file, _, _ := strings.Cut(text[at+1:], ";")
			out = append(out, s.touch(plainWord(file), dirs, false, false, false)...)
		}
		if i == 0 {
			continue
		}
		switch args[i-1].text {
		case "-T", "--upload-file", "-K", "--config", "--post-file", "--body-file", "-i", "-b", "--cookie", "--netrc-file", "-E", "--cert", "--key":
			out = append(out, s.touch(a, dirs, false, false, false)...)
		case "-o", "--output", "-O", "--output-document", "-c", "--cookie-jar", "-D", "--dump-header":
			out = append(out, s.touch(a, dirs, true, false, false)...)
		}
	}
	_, flags := splitOperands(args)
	return append(out, s.flagValues(flags, dirs, true)...)
}

// gitTouches: show, diff, blame and the like print files; checkout, mv and rm
// change them.
func (s *script) gitTouches(c command, dirs cwd) []touch {
	rest, _, _ := gitWords(c)
	if len(rest.words) < 2 {
		return nil
	}
	sub := rest.words[1].text
	operands, _ := splitOperands(rest.words[2:])
	if slices.Contains(rest.texts(), "--") {
		_, after, _ := cutWord(rest.words[2:], "--")
		operands = append(operands, after...)
	}
	read := slices.Contains([]string{"show", "diff", "log", "blame", "annotate", "cat-file", "grep", "hash-object", "archive",
		"diff-tree", "diff-index", "diff-files", "apply", "am", "whatchanged"}, sub)
	write := slices.Contains([]string{"checkout", "restore", "mv", "rm", "clean"}, sub)
	out := s.optionGuesses(rest.words[2:], dirs)
	if sub == "grep" && len(operands) < 2 {
		return append(out, s.touch(plainWord("."), dirs, false, true, false)...)
	}
	for _, o := range operands {
		if read {
			out = append(out, s.touch(o, dirs, false, sub == "grep", false)...)
			if _, file, ok := strings.Cut(o.text, ":"); ok && file != "" {
				out = append(out, s.touch(plainWord(file), dirs, false, false, false)...)
			}
		}
		if write {
			// A branch may have the name; only what it may be is known.
			out = append(out, s.touch(o, dirs, true, false, sub == "checkout")...)
		}
	}
	return out
}

func cutWord(words []word, at string) (before, after []word, found bool) {
	i := slices.IndexFunc(words, func(a word) bool { return a.text == at })
	if i < 0 {
		return words, nil, false
	}
	return words[:i], words[i+1:], true
}
