package permission

import (
	"path"
	"slices"
	"strings"
)

// suggestions are rules that would have allowed the call, narrowest first:
// the exact call, then a subcommand, a directory or a host. A command line
// with several uncovered parts gets one exact rule for each of them, to be
// saved together. A candidate is kept only when it covers what is to be
// approved and meets no deny.
func (e *evaluation) suggestions() []string {
	var open []outcome
	for _, o := range e.results {
		if o.effect == Ask {
			open = append(open, o)
		}
		if o.part != nil && (o.part.kind == partRead || o.part.kind == partWrite) {
			return nil
		}
	}
	var out []string
	for _, o := range open {
		if e.coveredBy(out, o) {
			continue
		}
		found := e.candidates(o)
		if len(found) == 0 {
			return nil
		}
		if e.together() {
			found = found[:1]
		}
		for _, f := range found {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// coveredBy reports whether an exact rule suggested already covers the part:
// that of a command also covers what its options run.
func (e *evaluation) coveredBy(patterns []string, o outcome) bool {
	return slices.ContainsFunc(patterns, func(text string) bool {
		c, err := compileFor(Rule{Effect: Allow, Pattern: text}, o.subject.by().Kind)
		return err == nil && c.has(asCmd) && c.exactCmd() && c.kin.tool.permits(o.subject.by()) && o.subject.permits(c)
	})
}

// together reports whether the suggestions only help when all are saved.
func (e *evaluation) together() bool {
	n := 0
	for _, o := range e.results {
		if o.effect == Ask {
			n++
		}
	}
	return n > 1
}

func (e *evaluation) candidates(o outcome) []string {
	var texts []string
	switch s := o.subject.(type) {
	case *commandSubject:
		texts = commandCandidates(s)
	case *pathSubject:
		texts = pathCandidates(s)
	case *urlSubject:
		texts = urlCandidates(s)
	case *argsSubject:
		texts = argsCandidates(s)
	}
	return slices.DeleteFunc(texts, func(text string) bool { return !e.sound(text, o.subject) })
}

// sound checks a candidate the way it would be used.
func (e *evaluation) sound(text string, s subject) bool {
	c, err := compileFor(Rule{Effect: Allow, Pattern: text}, s.by().Kind)
	if err != nil || !c.kin.tool.permits(s.by()) || !s.permits(c) {
		return false
	}
	return !slices.ContainsFunc(e.about(s.by()).every, func(i int32) bool {
		deny := &e.set.restricts[i]
		return deny.effect() == Deny && e.inScope(deny) && e.overlap(c, deny)
	})
}

// overlap reports whether an allow could cover something that a deny forbids.
func (e *evaluation) overlap(allow, deny *compiled) bool {
	switch {
	case allow.has(asPath) && deny.has(asPath):
		return e.pathOverlap(e.places.spellingsOf(allow), deny.path())
	case allow.has(asCmd) && deny.has(asCmd) && !allow.cmd().exact:
		return !deny.apartFrom(allow.cmd()) && allow.cmd().meets(deny.cmd())
	case allow.has(asURL) && deny.has(asURL) && deny.isAbout(allow.kin.tool.text):
		return allow.url().meets(deny.url())
	case allow.bare():
		// A whole tool, of which a deny forbids some calls.
		return deny.isAbout(allow.kin.tool.text)
	default:
		return false
	}
}

// isAbout reports whether a deny is about a tool by its name.
func (c *compiled) isAbout(name string) bool {
	t := BuiltinTool(name)
	return c.kin.tool.forbids(&t)
}

// meets reports whether some command could be in both patterns.
func (p *cmdPattern) meets(o *cmdPattern) bool {
	for i := range p.alts {
		a := &p.alts[i]
		if slices.ContainsFunc(o.alts, func(d cmdAlt) bool { return a.seq.meets(&d.seq, 0) || a.base.meets(&d.base, 0) }) {
			return true
		}
	}
	return false
}

func (e *evaluation) pathOverlap(allow []spelling, deny *pathPattern) bool {
	for _, mine := range allow {
		for i := range deny.globs {
			d := &deny.globs[i]
			if (d.lead == "" || e.places.resolve == nil) && d.apart(mine, e.places) {
				continue
			}
			for _, theirs := range d.spellings(e.places) {
				if mine.absolute.meets(theirs.absolute, '/') {
					return true
				}
			}
		}
	}
	return false
}

// apart reports whether the glob, none of whose directories is a link, differs from a spelling in its literal beginning.
func (g *pathGlob) apart(s spelling, p *places) bool {
	for _, root := range p.starts(g) {
		root = foldString(nfc(root))
		mine, theirs := strings.TrimSuffix(s.root, "/")+"/"+s.seq.head, strings.TrimSuffix(root, "/")+"/"+g.fold.head
		if n := min(len(mine), len(theirs)); mine[:n] == theirs[:n] {
			return false
		}
	}
	return true
}

// meets compares a suggested URL rule, which names one host, with a deny.
func (p *urlPattern) meets(deny *urlPattern) bool {
	t := webTarget{scheme: p.scheme, port: p.port, host: p.address, address: p.address != ""}
	if !t.address {
		t.host = strings.Join(p.labels, ".")
	}
	if !deny.coversHost(t) {
		return false
	}
	for _, a := range p.folded {
		for _, b := range deny.folded {
			if a.meets(b, '/') {
				return true
			}
		}
	}
	return false
}

// neverSuggested are programs whose approval would approve anything.
var neverSuggested = set(`python pypy perl ruby node nodejs deno bun php lua tclsh wish Rscript R julia irb
	ipython osascript awk gawk mawk nawk sh bash dash zsh ksh ash fish csh tcsh pwsh powershell env sudo doas su xargs find
	fd ssh eval exec source . trap alias npx bunx pnpx uvx tsx ts-node java expect make-shell`)

func commandCandidates(s *commandSubject) []string {
	p := s.part
	if p.kind != partCommand || len(p.cmd.assigns) > 0 || p.wraps || len(p.cmd.words) == 0 {
		return nil
	}
	name := p.cmd.name()
	if neverSuggested[strings.TrimRight(name, "0123456789.-")] || name == "git" && bareGit(p.cmd) || dockerRuns(p.cmd) {
		return nil
	}
	var words []string
	for _, w := range p.cmd.words {
		if w.dynamic || w.subst {
			return nil
		}
		words = append(words, wordRule(w))
	}
	out := []string{s.tool.Name + "(" + strings.Join(words, " ") + ")"}
	if n := subcommandWords(p.cmd); n > 0 && p.hazard == "" {
		out = append(out, s.tool.Name+"("+strings.Join(words[:n], " ")+":*)")
	}
	return out
}

// bareGit reports a git without a subcommand, whatever its options.
func bareGit(c command) bool {
	rest, _, _ := gitWords(c)
	return len(rest.words) < 2
}

// dockerRuns finds docker compose exec, docker container run and the like.
func dockerRuns(c command) bool {
	spec, ok := wrappers[c.name()]
	return ok && spec.elsewhere && len(spec.subs) > 0 &&
		slices.ContainsFunc(c.words[1:], func(a word) bool { return spec.subs[a.text] })
}

// wordRule is ruleWord for a word of a command. What the shell expands is
// escaped outside quotes: in quotes it would be the character alone.
func wordRule(w word) string {
	if !w.glob && !w.tilde {
		return ruleWord(w.text)
	}
	var b strings.Builder
	for _, r := range w.text {
		if r <= 0x7f && !isWordByte(byte(r)) && !strings.ContainsRune("@%+=./:~^-", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// ruleWord writes one word so that a rule reads back exactly it.
func ruleWord(s string) string {
	plain := s != ""
	for _, r := range s {
		if r > 0x7f || !isWordByte(byte(r)) && !strings.ContainsRune("@%+=./:~^-", r) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `*`, `\*`).Replace(s) + `"`
}

// subcommands are programs whose second word says what they do, and the
// second words that run whatever follows.
var subcommands = map[string]string{
	"git": "config bisect submodule filter-branch", "npm": "exec x explore config", "pnpm": "exec dlx config",
	"yarn": "exec dlx config", "bun": "x", "go": "run generate env", "cargo": "run config", "docker": "exec run", "podman": "exec run",
	"kubectl": "exec run cp attach debug", "make": "", "pip": "config", "pip3": "config", "uv": "run tool", "gh": "api alias extension",
	"terraform": "console", "systemctl": "edit", "brew": "", "apt": "", "apt-get": "", "poetry": "run shell", "bundle": "exec console",
	"mvn": "", "gradle": "", "dotnet": "exec run", "helm": "plugin", "just": "", "jj": "config", "composer": "exec", "rustup": "run",
	"swift": "run", "mix": "run", "flutter": "run", "ng": "", "turbo": "", "nx": "exec",
}

// subcommandWords is how many leading words make a subcommand, 0 for none.
func subcommandWords(c command) int {
	runs, ok := subcommands[c.words[0].text]
	if !ok || len(c.words) < 2 {
		return 0
	}
	n := 2
	if c.words[1].text == "run" && len(c.words) > 2 {
		n = 3
	} else if c.words[1].text == "run" {
		return 0
	}
	for _, w := range c.words[1:n] {
		if !subcommandWord(w.text) || !w.sure() {
			return 0
		}
	}
	if slices.Contains(strings.Fields(runs), c.words[1].text) {
		return 0
	}
	return n
}

func subcommandWord(s string) bool {
	for i := range len(s) {
		if !isWordByte(s[i]) && (i == 0 || s[i] != '-' && s[i] != ':') {
			return false
		}
	}
	return s != ""
}

func pathCandidates(s *pathSubject) []string {
	t := s.target
	exact, _ := s.places.patternFor(t.clean)
	out := []string{s.tool.Name + "(" + exact + ")"}
	dir, deep := s.places.patternFor(path.Dir(t.clean))
	if deep && !looksSecret(t.clean) {
		out = append(out, s.tool.Name+"("+dir+"/**)")
	}
	return out
}

// patternFor writes a path as a pattern; deep tells whether it lies far enough
// from a root to be granted as a directory.
func (p *places) patternFor(file string) (pattern string, deep bool) {
	escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)
	for _, base := range []struct{ dir, mark string }{{p.workspace, "./"}, {p.home, "~/"}} {
		if base.dir == "" || path.Clean(base.dir) == "/" {
			continue
		}
		if rest, ok := below(path.Clean(base.dir), file); ok {
			return base.mark + escape.Replace(rest), rest != ""
		}
	}
	return escape.Replace(file), strings.Count(file, "/") > 2
}

func urlCandidates(s *urlSubject) []string {
	t := s.target
	host := t.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if t.port != defaultPort(t.scheme) {
		host += ":" + t.port
	}
	method := ""
	if t.method != "GET" && t.method != "HEAD" {
		method = t.method + " "
	}
	escape := strings.NewReplacer("*", "%2A", "?", "%3F", "[", "%5B", "]", "%5D", "{", "%7B", "}", "%7D", " ", "%20", `\`, "%5C")
	origin := s.tool.Name + "(" + method + t.scheme + "://" + host
	return []string{origin + escape.Replace(t.path) + ")", origin + "/**)"}
}

// maxExactArgs bounds the arguments that are offered as an exact rule.
const maxExactArgs = 2000

func argsCandidates(s *argsSubject) []string {
	name := s.tool.fullName()
	var out []string
	if text := canonical(s.args); len(text) <= maxExactArgs {
		text = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(text)
		out = append(out, name+"("+text+")")
	}
	return append(out, name)
}
