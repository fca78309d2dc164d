package permission

import "strings"

// Most patterns are plain: literal text with one wildcard at most, without quotes. Such a pattern is matched as it is
// written, and no form of it is kept. What is plain is decided by parsing the pattern in full and comparing.

var midDeep = sequence{{op: opDeep}}

// plainOf reads a text with at most one star, or several side by side.
func plainOf(s string) packed {
	if i := strings.IndexByte(s, '*'); i >= 0 {
		return packed{head: s[:i], mid: midDeep, tail: strings.TrimLeft(s[i:], "*")}
	}
	return packed{head: s}
}

// plainCommand reads a command pattern; with prefix the text is what :* follows.
func plainCommand(s string) (q packed, prefix bool) {
	if head, ok := strings.CutSuffix(s, ":*"); ok {
		return packed{head: head}, true
	}
	return plainOf(s), false
}

// plainFiles is a plain path pattern: below a base, one glob; a deny's tree is the directory above it too.
type plainFiles struct {
	base pathBase
	glob packed
	tree bool
}

func plainPattern(wide bool, s string) plainFiles {
	f := plainFiles{base: baseWorkspace}
	switch {
	case strings.HasPrefix(s, "/"):
		f.base, s = baseRoot, s[1:]
	case strings.HasPrefix(s, "~/"):
		f.base, s = baseHome, s[2:]
	case strings.HasPrefix(s, "./"):
		s = s[2:]
	case wide && strings.HasPrefix(s, "**/"):
		f.base = baseRoot
	}
	from := strings.IndexByte(s, '*')
	if from < 0 {
		f.glob.head = s
		return f
	}
	to := strings.LastIndexByte(s, '*') + 1
	if to < len(s) && strings.HasSuffix(s[:to], "**") {
		to++ // the slash behind it
	}
	f.glob = packed{head: s[:from], mid: plainMid(s[from:to], to == len(s)), tail: s[to:]}
	f.tree = wide && s[from:] == "**"
	return f
}

// globs are the pattern as [parsePathPattern] gives it.
func (f *plainFiles) globs() []pathGlob {
	lead := f.glob.head
	if !f.glob.exact() {
		lead = lead[:strings.LastIndexByte(lead, '/')+1]
	}
	out := []pathGlob{{base: f.base, seq: f.glob, fold: f.glob, lead: lead, tail: len(lead)}}
	if f.tree {
		above := packed{head: f.above()}
		out = append(out, pathGlob{base: f.base, seq: above, fold: above, lead: above.head, tail: len(above.head)})
	}
	return out
}

// above is the directory of a tree.
func (f *plainFiles) above() string { return strings.TrimSuffix(f.glob.head, "/") }

// match reports whether a path below the base is in the pattern.
func (f *plainFiles) match(rest string) bool {
	return f.glob.match(rest, '/') || f.tree && rest == f.above()
}

// permits reports whether the pattern covers a path.
func (f *plainFiles) permits(file string, p *places) bool {
	file = nfc(file)
	for _, root := range p.rootsOf(f.base) {
		if rest, ok := below(nfc(root), file); ok && f.match(rest) {
			return true
		}
	}
	return false
}

// forbids reports whether the pattern is about one of the files; where its directories lead is not looked at.
func (f *plainFiles) forbids(files []string, p *places) bool {
	for _, root := range p.lowRootsOf(f.base) {
		for _, file := range files {
			p.work.spend(2 + len(file)/8)
			if rest, ok := below(root, file); ok && f.match(rest) {
				return true
			}
		}
	}
	return false
}

// Wildcards of paths as parsePathPattern reads them.
var (
	midStar     = sequence{{op: opStar}}
	midTree     = sequence{{op: opOne}, {op: opDeep}}
	midDirs     = sequence{{op: opDirs}, {op: opDirsMid}}
	midDirsStar = sequence{{op: opDirs}, {op: opDirsMid}, {op: opStar}}
	midTwoStars = sequence{{op: opStar}, {op: opLit, r: '/'}, {op: opStar}}
	// midNone is in no pattern.
	midNone = sequence{{op: opClass}}
)

func plainMid(s string, last bool) sequence {
	switch {
	case s == "*":
		return midStar
	case s == "**" && last:
		return midTree
	case s == "**/":
		return midDirs
	case s == "**/*":
		return midDirsStar
	case s == "*/*":
		return midTwoStars
	default:
		return midNone
	}
}

// drop leaves out the readings that are plain, and gives what is left, nil if that is nothing.
func (f *form) drop(effect Effect, arg string, flags *ruleFlags) *form {
	out := *f
	ascii := asciiOnly(arg)
	if ascii && f.cmd != nil && f.cmd.isPlain(effect, arg) {
		*flags |= plainCmd
		if out.cmd.exact {
			*flags |= exactCmd
		}
		if out.cmd.prefix {
			*flags |= prefixCmd
		}
		out.cmd = nil
	}
	if ascii && f.path != nil && f.path.isPlain(effect, arg) {
		out.path = nil
		*flags |= plainPath
	}
	if ascii && f.args != nil && f.args.isPlain(arg) {
		out.args = nil
		*flags |= plainArgs
	}
	if out.cmd == nil && out.path == nil && out.url == nil && out.args == nil && out.where == nil {
		return nil
	}
	return &out
}

func asciiOnly(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// isPlain reports whether the pattern is all that plainCommand reads, and a deny's the same in folded case.
func (p *cmdPattern) isPlain(effect Effect, arg string) bool {
	q, prefix := plainCommand(arg)
	want := []packed{q}
	if prefix {
		want = append(want, packed{head: q.head + " ", mid: midDeep}, packed{head: q.head + ":", mid: midDeep})
	}
	if p.prefix != prefix || len(p.alts) != len(want) || p.exact != (!prefix && q.exact()) || p.named() != q.named() {
		return false
	}
	for i := range p.alts {
		a := &p.alts[i]
		if a.assigns > 0 || a.literal || !a.seq.same(&want[i]) || effect != Allow && (a.far || !a.base.same(&want[i])) {
			return false
		}
	}
	return true
}

func (pp *pathPattern) isPlain(effect Effect, arg string) bool {
	f := plainPattern(effect != Allow, arg)
	globs := f.globs()
	if len(pp.globs) != len(globs) {
		return false
	}
	for i := range pp.globs {
		g, want := &pp.globs[i], &globs[i]
		if g.base != want.base || g.up != 0 || g.lead != want.lead || g.tail != want.tail || !g.seq.same(&want.seq) || effect != Allow && !g.fold.same(&want.fold) {
			return false
		}
	}
	return true
}

func (p *argsPattern) isPlain(arg string) bool {
	q := plainOf(arg)
	return p.constraints == nil && p.glob.same(&q) && p.narrow.same(&q)
}

// same reports whether two patterns are the same by the token.
func (p *packed) same(o *packed) bool {
	if p.head != o.head || p.tail != o.tail || len(p.mid) != len(o.mid) {
		return false
	}
	for i, t := range p.mid {
		if u := o.mid[i]; t.op != u.op || t.r != u.r || t.op == opClass {
			return false
		}
	}
	return true
}

// plainCmd is the pattern as plainCommand reads it.
func (c *compiled) plainCmd() packed {
	arg := c.arg()
	switch {
	case c.has(exactCmd):
		return packed{head: arg}
	case c.has(prefixCmd):
		return packed{head: arg[:len(arg)-len(":*")]}
	default:
		return plainOf(arg)
	}
}

// named is [cmdPattern.named] for a plain pattern.
func (p *packed) named() bool {
	first, _, _ := strings.Cut(p.head, string(wordSep))
	return first[strings.LastIndexByte(first, '/')+1:] != ""
}

// exactCmd tells whether a command pattern has no wildcard.
func (c *compiled) exactCmd() bool {
	return c.has(exactCmd) || !c.has(plainCmd) && c.cmd().exact
}

// namesProgram tells whether a command pattern spells its program.
func (c *compiled) namesProgram() bool {
	if c.has(plainCmd) {
		q := c.plainCmd()
		return q.named()
	}
	return c.cmd().named()
}

// cmdPermits is [cmdPattern.permits].
func (c *compiled) cmdPermits(s *saying) bool {
	if !c.has(plainCmd) {
		return c.cmd().permits(s)
	}
	q := c.plainCmd()
	return s.assigns == 0 && q.matchCommand(c.has(prefixCmd), s.text)
}

// matchCommand reports whether a plain pattern covers a command.
func (p *packed) matchCommand(prefix bool, text string) bool {
	if !prefix {
		return p.match(text, 0)
	}
	return strings.HasPrefix(text, p.head) && (len(text) == len(p.head) || text[len(p.head)] == wordSep || text[len(p.head)] == ':')
}

// cmdForbids is [cmdPattern.relate].
func (c *compiled) cmdForbids(cmd command, h *heard, w *work) answer {
	switch {
	case c.has(plainCmd) && c.startsElsewhere(cmd):
		return no
	case h == nil || !h.sure || !c.has(plainCmd) || len(cmd.words) == 0:
		return c.cmd().relate(cmd, h, false, w)
	}
	w.spend(1 + len(h.plain)/8)
	q, prefix := c.plainCmd(), c.has(prefixCmd)
	return truth(q.matchCommand(prefix, h.plain) || q.matchCommand(prefix, h.based))
}

// cmdForbidsTail is [cmdPattern.forbidsTail].
func (c *compiled) cmdForbidsTail(cmd command, w *work) answer {
	if c.has(plainCmd) && (c.startsElsewhere(cmd) || !c.has(prefixCmd) && c.plainCmd().head == "") { // it would have matched the whole
		return no
	}
	return c.cmd().forbidsTail(cmd, w)
}

// startsElsewhere is a quick look at the program's name, for a plain pattern of a deny or ask.
func (c *compiled) startsElsewhere(cmd command) bool {
	if len(cmd.words) == 0 || !cmd.words[0].sure() {
		return false
	}
	q, name := c.plainCmd(), joined(cmd.name())
	first, _, whole := strings.Cut(q.head, string(wordSep))
	rest, begins := strings.CutPrefix(name, first)
	switch {
	case whole || c.has(exactCmd):
		return rest != "" || !begins
	case c.has(prefixCmd):
		return !begins || rest != "" && rest[0] != ':'
	default:
		return !begins
	}
}

// apartFrom reports whether a plain deny differs in its literal beginning from all that an allow could cover.
func (c *compiled) apartFrom(allow *cmdPattern) bool {
	if !c.has(plainCmd) {
		return false
	}
	q := c.plainCmd()
	differs := func(head string) bool {
		n := min(len(head), len(q.head))
		return head[:n] != q.head[:n]
	}
	for i := range allow.alts {
		if a := &allow.alts[i]; !differs(a.seq.head) || !differs(a.base.head) {
			return false
		}
	}
	return true
}

// argsForbid is [argsPattern.forbids].
func (c *compiled) argsForbid(o object, text string) answer {
	if c.has(plainArgs) {
		q := plainOf(c.arg())
		return truth(q.match(text, 0))
	}
	return c.args().forbids(o, text)
}

// argsPermit is [argsPattern.permits].
func (c *compiled) argsPermit(o object, text string) bool {
	if c.has(plainArgs) {
		q := plainOf(c.arg())
		return q.match(text, '"')
	}
	return c.args().permits(o, text)
}
