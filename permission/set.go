package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Set is a compiled set of rules. It is immutable and safe for concurrent use.
type Set struct {
	allows []compiled
	// restricts are the denies, then the asks.
	restricts []compiled
	denies    int
	// tools are the tools that rules name, by their numbers.
	tools []*toolPattern
	// broken are deny and ask rules that could not be read. Nothing they might
	// have concerned is allowed.
	broken []brokenRule
	// watchesFiles: some deny or ask is about files, so that what commands read
	// and write has to be looked at.
	watchesFiles bool
	index        index
}

type brokenRule struct {
	rule Rule
	tool toolPattern
	err  error
	any  bool // the tool could not be read either
}

// toolPattern is the tool part of a rule.
type toolPattern struct {
	text   string
	folded string
	glob   sequence // nil: exact
	number int      // in the set
	// reads and writes: a deny or ask of it is about all reading or writing of files.
	reads, writes bool
}

var errParen = errors.New(`the pattern does not end in ")": write tool(pattern), and quote or escape nothing after it`)

// splitPattern cuts tool(pattern).
func splitPattern(s string) (tool, arg string, bare bool, err error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", "", false, errEmptyPattern
	}
	tool, arg, found := strings.Cut(s, "(")
	if tool == "" {
		return "", "", false, errors.New("the pattern names no tool: write tool(pattern), such as bash(npm test:*)")
	}
	for _, r := range tool {
		if !asciiName(string(r)) || strings.ContainsRune(" )\"'`$;|&<>\\,", r) {
			return "", "", false, fmt.Errorf("the tool name %q contains %q: tool names are letters, digits, _ - . and, in deny and ask, * ? [ ] { }", tool, r)
		}
	}
	if !found {
		return tool, "", true, nil
	}
	inner, ok := strings.CutSuffix(arg, ")")
	if !ok {
		return tool, "", false, errParen
	}
	return tool, inner, false, nil
}

func parseTool(effect Effect, text string) (toolPattern, error) {
	t, err := readTools(effect, text)
	t.reads, t.writes = t.forbids(&readTool), t.forbids(&writeTool)
	return t, err
}

func readTools(effect Effect, text string) (toolPattern, error) {
	t := toolPattern{text: text, folded: foldString(text)}
	if !strings.ContainsAny(text, "*?[]{}") {
		return t, nil
	}
	name := text
	if effect == Allow {
		server, rest, ok := mcpName(text)
		if !ok || strings.ContainsAny(server, "*?[]{}") {
			return t, errors.New("an allow names its tool, or mcp__server__ with a wildcard after it: a wider one is refused")
		}
		name = rest
	} else {
		name = t.folded
	}
	q, err := parseToolGlob(name)
	if err != nil {
		return t, err
	}
	if effect == Allow {
		t.glob = append(literal(text[:len(text)-len(name)]), q...)
	} else {
		t.glob = q
	}
	return t, nil
}

// parseToolGlob reads a glob over a tool name. Braces are one token's choice of
// alternatives and rare, so they are not supported and said to be so.
func parseToolGlob(s string) (sequence, error) {
	if strings.ContainsAny(s, "{}[]") {
		return nil, errors.New("a tool name takes only the wildcards * and ?: write one rule per name")
	}
	return parseTextGlob(s)
}

// mcpName cuts mcp__server__tool at the first double underscore after the
// server.
func mcpName(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// fullName is the tool's name with its server, as rules spell it.
func (t *Tool) fullName() string {
	if t.Server != "" && !strings.HasPrefix(t.Name, "mcp__") {
		return "mcp__" + t.Server + "__" + t.Name
	}
	return t.Name
}

// fault says why no rule can allow a call of this tool.
func (t *Tool) fault() string {
	name := t.fullName()
	switch {
	case name == "":
		return "the tool has no name"
	case !asciiName(name) || strings.ContainsAny(name, " ()*?[]{}\"'`\\"):
		return "the tool's name contains unusual characters"
	case t.Server == "" && strings.HasPrefix(name, "mcp__"):
		return "the tool claims to be of an MCP server that is not registered"
	case t.Server != "":
		tool, ok := strings.CutPrefix(name, "mcp__"+t.Server+"__")
		if !ok || tool == "" || strings.Contains(t.Server, "__") || strings.HasSuffix(t.Server, "_") {
			return "the tool's name does not divide into its server and a tool"
		}
	}
	return ""
}

// forbids matches for deny and ask: globs anywhere, case folded, a server's
// name stands for all its tools.
func (p *toolPattern) forbids(t *Tool) bool {
	name := foldString(t.fullName())
	if t.Server != "" && p.glob == nil && p.folded == "mcp__"+foldString(t.Server) {
		return true
	}
	if p.glob == nil {
		return p.folded == name
	}
	return p.glob.match([]rune(name), 0) ||
		t.Server != "" && p.glob.match([]rune("mcp__"+foldString(t.Server)), 0)
}

// permits matches for allow.
func (p *toolPattern) permits(t *Tool) bool {
	name := t.fullName()
	if t.Server != "" {
		if p.glob == nil && p.text == "mcp__"+t.Server {
			return true
		}
		if server, _, ok := mcpName(p.text); !ok || server != t.Server {
			return false
		}
	}
	if p.glob == nil {
		return p.text == name
	}
	return p.glob.match([]rune(name), 0)
}

// ParsePattern checks the syntax of a pattern and says what is wrong with it
// and how to mend it.
func ParsePattern(effect Effect, pattern string) error {
	_, err := compile(Rule{Effect: effect, Pattern: pattern})
	return err
}

// compileFor is compile for calls of one kind of tool only.
func compileFor(r Rule, kind Kind) (*compiled, error) { return compileKinds(r, kind) }

func compile(r Rule) (*compiled, error) {
	return compileKinds(r, KindOther, KindCommand, KindRead, KindURL)
}

// compileKinds reads a rule for some kinds of calls; nothing of it is packed.
func compileKinds(r Rule, kinds ...Kind) (*compiled, error) {
	tool, arg, bare, err := splitPattern(r.Pattern)
	if err != nil {
		return nil, err
	}
	f := &form{}
	c := &compiled{kin: &kin{scope: &r, form: f}, flags: isWhole}
	if f.where, err = conditions(r.Where); err != nil {
		return nil, err
	}
	if err := checkUses(r); err != nil {
		return nil, err
	}
	t, err := parseTool(r.Effect, tool)
	if err != nil {
		return nil, err
	}
	c.kin.tool = &t
	if bare {
		c.flags |= isBare
		return c, nil
	}
	spec := BuiltinTool(tool)
	if known := spec.Kind; t.glob == nil && (spec.Field != "" || known == KindMCP) {
		kinds = []Kind{known}
	}
	// For a tool from elsewhere, or several, every reading that works is kept.
	var errs []error
	for _, kind := range kinds {
		if err := f.read(r.Effect, kind, arg); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == len(kinds) {
		return nil, errs[0]
	}
	c.flags |= f.readings()
	return c, nil
}

// Compile prepares rules for deciding. A malformed or refused allow is
// reported as a problem and never matches. A malformed deny or ask is an
// error that names each of them; the set returned with it asks wherever one
// of them might have applied.
func Compile(rules []Rule) (*Set, []Problem, error) {
	s := &Set{}
	p := newPacker()
	var problems []Problem
	var errs []error
	var asks []compiled
	for _, r := range rules {
		c, err := compile(r)
		switch {
		case err != nil && r.Effect == Allow:
			problems = append(problems, Problem{r, err})
		case err != nil:
			errs = append(errs, fmt.Errorf("%s%s rule %q: %w", place(r.Source), r.Effect, r.Pattern, err))
			s.addBroken(r, err)
		case r.Effect == Allow:
			s.allows = append(s.allows, p.pack(c))
		case r.Effect == Deny:
			s.restricts = append(s.restricts, p.pack(c))
		default:
			asks = append(asks, p.pack(c))
		}
	}
	s.denies = len(s.restricts)
	s.restricts = slices.Concat(s.restricts, asks)
	s.allows = slices.Clone(s.allows)
	s.tools = p.done()
	for i := range s.restricts {
		t := s.restricts[i].kin.tool
		s.watchesFiles = s.watchesFiles || t.reads || t.writes
	}
	return s, problems, errors.Join(errs...)
}

func (s *Set) addBroken(r Rule, err error) {
	b := brokenRule{rule: r, err: err, any: true}
	if tool, _, _, splitErr := splitPattern(r.Pattern); splitErr == nil {
		if t, toolErr := parseTool(r.Effect, tool); toolErr == nil {
			b.tool, b.any = t, false
		}
	}
	s.broken = append(s.broken, b)
}

// concerns reports whether a rule that could not be read might have been
// about this call. Rules about files reach into every command and path.
func (b *brokenRule) concerns(t *Tool) bool {
	if b.any || b.tool.forbids(t) {
		return true
	}
	files := b.tool.reads || b.tool.writes
	return files && (t.Kind == KindCommand || t.Kind == KindRead || t.Kind == KindWrite)
}

func place(s Source) string {
	switch {
	case s.File != "" && s.Line > 0:
		return fmt.Sprintf("%s:%d: ", s.File, s.Line)
	case s.File != "":
		return s.File + ": "
	case s.Name != "":
		return s.Name + ": "
	default:
		return ""
	}
}
