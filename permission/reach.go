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
	"chmod": {writes: true, skip: 1, unless: "rwxXstugoa", treeFlags: "R"}, "chown": {writes: true, skip: 1, treeFlags: "R"},
	"chgrp": {writes: true, skip: 1, treeFlags: "R"}, "mktemp": {writes: true},
	"cp": {lastWritten: true, treeFlags: "rRa"}, "mv": {lastWritten: true, removes: true, tree: true},
	"install": {lastWritten: true}, "ln": {lastWritten: true}, "rsync": {lastWritten: true, treeFlags: "ra"},
	"scp": {lastWritten: true, treeFlags: "r"}, "link": {lastWritten: true},
	"grep": {reads: true, skip: 1, unless: "ef", treeFlags: "rR", here: true},
	"rg":   treeGrep, "ag": treeGrep, "ack": treeGrep,
	"sed": {reads: true, skip: 1, unless: "ef"}, "awk": {reads: true, skip: 1, unless: "f"},
	"jq": {reads: true, skip: 1, unless: "f"}, "yq": {reads: true, skip: 1},
	"tar": {reads: true, tree: true}, "zip": {reads: true, tree: true}, "7z": {reads: true, tree: true},
	"diff": {reads: true, treeFlags: "r"}, "dd": {}, "patch": {writes: true},
}

var treeGrep = fileUse{reads: true, skip: 1, unless: "ef", tree: true, here: true}

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

// noOptions reads the arguments of programs whose options are not known: what
// begins with a dash is an option without a value.
var noOptions = newOptions(usage{})

// touched lists the files a command opens by itself, as far as its words say.
func (s *script) touched(c command, dirs cwd) []touch {
	s.opened = map[touchKey]bool{}
	name, args := c.name(), c.words[1:]
	if name == "git" {
		return s.gitTouches(c, dirs)
	}
	table, tabled := programs[tableName(name)]
	if !tabled {
		table = noOptions
	}
	r := table.read(args)
	dirs = movedBy(r, dirs)
	out := s.optionTouches(r, dirs)
	use, known := fileUses[tableName(name)]
	switch tableName(name) {
	case "find":
		return append(out, s.findTouches(r, dirs)...)
	case "dd":
		return append(out, s.ddTouches(args, dirs)...)
	case "tar":
		out = append(out, s.tarTouches(r, dirs)...)
	case "curl", "wget":
		return slices.Concat(out, s.attached(args, dirs), s.guesses(args, dirs))
	}
	switch {
	case readers[name]:
		use = fileUse{reads: true}
	case known:
	case quiet[name]:
		return out
	default:
		return append(out, s.guesses(args, dirs)...)
	}
	out = append(out, s.operandTouches(use, name, r, dirs)...)
	if manyOptions[tableName(name)] || manyOptions[name] || name == "sed" && (r.has("f", "file") || sedHazard(r)) {
		out = append(out, s.guesses(args, dirs)...)
	}
	return out
}

// optionTouches are the files that options name. What an option executes may
// be a file too, and so may the value of one that is not known: both are
// guesses.
func (s *script) optionTouches(r reading, dirs cwd) []touch {
	var out []touch
	for _, o := range r.opts {
		values := o.list
		if o.given {
			values = append([]word{o.value}, values...)
		}
		for _, v := range values {
			v.tilde = v.tilde || strings.HasPrefix(v.text, "~")
			switch o.use {
			case useReads, useSends:
				out = append(out, s.touch(v, dirs, false, false, false)...)
			case useWrites:
				out = append(out, s.touch(v, dirs, true, false, false)...)
			case useRuns, useLoads, useUnknown:
				out = append(out, s.guesses([]word{v}, dirs)...)
			case useNothing, useMoves:
			}
		}
	}
	return append(out, s.gluedTouches(r, dirs)...)
}

// gluedTouches guess at what is glued to letters that are not known.
func (s *script) gluedTouches(r reading, dirs cwd) []touch {
	var out []touch
	last := ""
	for _, o := range r.opts {
		if o.use == useUnknown && len(o.text) > 2 && o.text[1] != '-' && o.text != last {
			last = o.text // a word of many letters is looked at once
			out = append(out, s.guesses([]word{plainWord(o.text)}, dirs)...)
		}
	}
	return out
}

// movedBy is where a program works that is told a directory.
func movedBy(r reading, dirs cwd) cwd {
	for _, o := range r.opts {
		if o.use != useMoves || !o.given {
			continue
		}
		if !o.value.sure() || o.value.text == "" || strings.HasPrefix(o.value.text, "~") {
			return cwd{""}
		}
		var moved cwd
		for _, dir := range dirs {
			switch {
			case path.IsAbs(o.value.text):
				moved = moved.plus(cwd{path.Clean(o.value.text)})
			case dir == "":
				return cwd{""}
			default:
				moved = moved.plus(cwd{path.Join(dir, o.value.text)})
			}
		}
		dirs = moved
	}
	return dirs
}

// operandTouches applies a program's use to its operands.
func (s *script) operandTouches(use fileUse, name string, r reading, dirs cwd) []touch {
	operands := r.operands
	spread := use.tree || r.hasAny(use.treeFlags) || use.treeFlags != "" && r.has("recursive", "dereference-recursive", "archive")
	if slices.ContainsFunc(r.opts, func(o option) bool {
		return (o.name == "d" || o.name == "directories") && o.value.text != "" && strings.HasPrefix("recurse", o.value.text)
	}) {
		spread = true
	}
	if use.skip > 0 && !r.hasAny(use.unless) && !r.has("regexp", "expression", "file", "from-file", "reference") {
		operands = operands[min(use.skip, len(operands)):]
	}
	var out []touch
	if use.here && spread && len(operands) == 0 {
		operands = []word{plainWord(".")}
	}
	if use.lastWritten {
		return append(out, s.copyTouches(use, name, r, dirs, spread)...)
	}
	inPlace := r.has("in-place") || name == "sed" && r.has("i")
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

// hasAny reports whether one of the letters was given.
func (r reading) hasAny(letters string) bool {
	return slices.ContainsFunc(r.opts, func(o option) bool { return len(o.name) == 1 && strings.Contains(letters, o.name) })
}

// tarTouches: creating reads the operands and writes the archive, extracting
// reads the archive and writes below the directory it is told.
func (s *script) tarTouches(r reading, dirs cwd) []touch {
	creates := r.has("c", "r", "u", "A", "create", "append", "update", "catenate", "concatenate", "delete")
	extracts := r.has("x", "extract", "get") && r.has("C", "directory")
	var out []touch
	for _, o := range r.opts {
		if (o.name == "f" || o.name == "file") && o.given {
			out = append(out, s.touch(o.value, dirs, creates, false, false)...)
		}
	}
	if extracts {
		out = append(out, s.touch(plainWord("."), dirs, true, true, false)...)
	}
	return out
}

// copyTouches: sources are read, the target is written, and so is a source's
// name inside the target when that is a directory.
func (s *script) copyTouches(use fileUse, name string, r reading, dirs cwd, spread bool) []touch {
	var out []touch
	sources, targets := r.operands, []word(nil)
	for _, o := range r.opts {
		if (o.name == "t" || o.name == "target-directory") && o.given && name != "rsync" {
			targets = append(targets, o.value)
		}
	}
	if n := len(sources) - 1; targets == nil && n > 0 {
		sources, targets = sources[:n], sources[n:]
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
		out = append(out, touch{write: write, target: t})
	}
	return out
}

// attached finds files behind @, < and file:// in the values of curl.
func (s *script) attached(args []word, dirs cwd) []touch {
	var out []touch
	for _, a := range args {
		text := a.text
		if _, after, ok := strings.Cut(text, "file://"); ok {
			out = append(out, s.touch(plainWord(after), dirs, false, false, false)...)
		}
		if at := strings.IndexAny(text, "@<"); at >= 0 && (at == 0 || text[at-1] == '=' || strings.HasPrefix(text, "-")) && at+1 < len(text) {
			file, _, _ := strings.Cut(text[at+1:], ";")
			out = append(out, s.touch(plainWord(strings.Trim(file, `"`)), dirs, false, false, false)...)
		}
	}
	return out
}
