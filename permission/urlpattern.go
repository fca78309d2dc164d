package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// urlPattern is one http_fetch rule: methods, scheme, host, port and a path
// glob.
type urlPattern struct {
	methods []string // nil: not given
	scheme  string
	// labels are the host's, from the right-most; nil for an address.
	labels  []string
	deep    bool // the pattern began with *., any depth
	anyHost bool // deny only: the host is a lone *
	address string
	port    string
	paths   []sequence
	folded  []sequence
}

var (
	errURLScheme = errors.New("a URL rule starts with https:// or http://, after an optional method: write https://example.com/**")
	errURLUser   = errors.New("a URL rule names no user: remove everything before the @")
	errURLQuery  = errors.New("query and fragment play no part in a URL rule: remove everything from the ? or #")
)

func parseURLPattern(effect Effect, s string) (*urlPattern, error) {
	if odd := oddText(s, ""); odd != "" {
		return nil, fmt.Errorf("the URL pattern contains %s", odd)
	}
	p := &urlPattern{}
	text := strings.TrimSpace(s)
	if method, rest, ok := strings.Cut(text, " "); ok {
		if err := p.setMethods(method); err != nil {
			return nil, err
		}
		text = strings.TrimSpace(rest)
	}
	scheme, rest, ok := strings.Cut(text, "://")
	p.scheme = strings.ToLower(scheme)
	if !ok || p.scheme != "http" && p.scheme != "https" {
		return nil, errURLScheme
	}
	host, path := rest, "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if strings.ContainsAny(host, "@") {
		return nil, errURLUser
	}
	if strings.ContainsAny(host, " \\%?#") || strings.ContainsAny(path, " #\\") {
		return nil, errors.New("the URL pattern contains a blank, backslash, percent in the host, ? or #: remove it")
	}
	if i := strings.IndexByte(path, '?'); i >= 0 && strings.Contains(path[i:], "=") {
		return nil, errURLQuery
	}
	if err := p.setHost(effect, host); err != nil {
		return nil, err
	}
	return p, p.setPath(effect, path)
}

func (p *urlPattern) setMethods(s string) error {
	for m := range strings.SplitSeq(s, ",") {
		if m == "" || m != strings.ToUpper(m) || strings.ContainsAny(m, ":/.") {
			return fmt.Errorf("%q is not a method: write GET, or several as GET,POST, or * for any", m)
		}
		p.methods = append(p.methods, m)
	}
	return nil
}

// httpMethods are those that http_fetch can be called with.
var httpMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// Idle says why a rule that can be read is about no call that could be made, "" where it may be about some. Only a pattern for
// http_fetch alone is looked at: what other tools take is for them to say.
func Idle(pattern string) string {
	inner, found := strings.CutPrefix(strings.TrimSpace(pattern), "http_fetch(")
	if !found {
		return ""
	}
	methods, _, found := strings.Cut(strings.TrimSpace(inner), " ")
	if !found {
		return ""
	}
	for m := range strings.SplitSeq(methods, ",") {
		if m != "*" && !slices.Contains(httpMethods, m) {
			return fmt.Sprintf("http_fetch has no method %q, so no call has it: use %s, or * for any", m, strings.Join(httpMethods, ", "))
		}
	}
	return ""
}

func (p *urlPattern) setHost(effect Effect, host string) error {
	name, port, err := splitPort(host)
	if err != nil {
		return err
	}
	p.port = port
	if port == "" {
		p.port = defaultPort(p.scheme)
	}
	name = strings.TrimSuffix(name, ".")
	if name == "" {
		return errors.New("the URL pattern has no host: write https://example.com/**")
	}
	if name == "*" && effect != Allow {
		p.anyHost = true
		return nil
	}
	if strings.HasPrefix(name, "*.") {
		p.deep, name = true, name[2:]
	}
	if !p.deep && !strings.Contains(name, "*") {
		canonicalName, address, err := canonicalHost(name)
		if err != nil {
			return fmt.Errorf("the host of the URL pattern: %w", err)
		}
		if address {
			p.address = canonicalName
			return nil
		}
		name = canonicalName
	}
	for label := range strings.SplitSeq(name, ".") {
		if label, err = patternLabel(label); err != nil {
			return err
		}
		p.labels = append(p.labels, label)
	}
	return nil
}

func patternLabel(label string) (string, error) {
	if strings.Contains(label, "*") {
		if !asciiName(label) {
			return "", errors.New("a host label with a * must be ASCII: write the xn-- form")
		}
		return strings.ToLower(label), nil
	}
	out, _, err := canonicalHost(label + ".invalid")
	if err != nil {
		return "", fmt.Errorf("the host label %q: %w", label, err)
	}
	return strings.TrimSuffix(out, ".invalid"), nil
}

func (p *urlPattern) setPath(effect Effect, s string) error {
	wide := effect != Allow
	alternatives, err := expandBraces(decodePattern(s))
	if err != nil {
		return err
	}
	for _, a := range alternatives {
		segments, err := pathSegments(baseRoot, a)
		if err != nil {
			return err
		}
		if err := p.addPath(segments, strings.HasSuffix(a, "/"), wide); err != nil {
			return err
		}
	}
	for _, q := range p.paths {
		p.folded = append(p.folded, q.folded())
	}
	return nil
}

// addPath compiles one path. For deny a final ** also covers the directory it
// stands in.
func (p *urlPattern) addPath(segments []string, slash, wide bool) error {
	tree := len(segments) > 0 && segments[len(segments)-1] == "**"
	if tree {
		segments = segments[:len(segments)-1]
	}
	q, err := joinSegments(segments, wide)
	if err != nil {
		return err
	}
	q = append(sequence{{op: opLit, r: '/'}}, q...)
	if tree && wide {
		p.paths = append(p.paths, slices.Clone(q))
	}
	if (tree || slash) && len(segments) > 0 {
		q = append(q, token{op: opLit, r: '/'})
	}
	if tree {
		p.paths = append(p.paths, append(slices.Clone(q), token{op: opDeep}))
	}
	if !tree {
		p.paths = append(p.paths, q)
	}
	return nil
}

// decodePattern undoes escapes as for a URL; a wildcard written as an escape
// stays the character.
func decodePattern(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		one := decodePath(s[i:i+3], true)
		if len(one) == 1 && strings.Contains("*?[]{},", one) {
			b.WriteByte('\\')
		}
		b.WriteString(one)
		i += 2
	}
	return b.String()
}
