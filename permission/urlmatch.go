package permission

import (
	"slices"
	"strings"
)

func (p *urlPattern) permits(t webTarget) bool {
	if t.fault != "" || t.host == "" || !p.coversMethod(t.method) || !p.coversHost(t) {
		return false
	}
	for _, file := range []string{t.path, t.decoded} {
		if !slices.ContainsFunc(p.paths, func(q sequence) bool { return q.match([]rune(file), '/') }) {
			return false
		}
	}
	return true
}

// forbids answers for deny and ask. A rule without a method holds for every
// method here, and user information is looked past.
func (p *urlPattern) forbids(t webTarget) answer {
	if t.host == "" || p.methods != nil && !p.coversMethod(t.method) || !p.coversHost(t) {
		return no
	}
	for _, file := range []string{t.path, t.decoded, t.bare} {
		for _, form := range []string{file, strings.TrimSuffix(file, "/")} {
			subject := []rune(foldString(form))
			if len(subject) == 0 {
				subject = []rune{'/'}
			}
			if slices.ContainsFunc(p.folded, func(q sequence) bool { return q.match(subject, '/') }) {
				return yes
			}
		}
	}
	return no
}

func (p *urlPattern) coversMethod(m string) bool {
	if p.methods == nil {
		return m == "GET" || m == "HEAD"
	}
	return slices.Contains(p.methods, m) || slices.Contains(p.methods, "*")
}

func (p *urlPattern) coversHost(t webTarget) bool {
	if p.scheme != t.scheme || p.port != t.port {
		return false
	}
	if p.anyHost {
		return true
	}
	if p.labels == nil {
		return p.address == t.host && t.address
	}
	labels := strings.Split(t.host, ".")
	if p.deep {
		// One label or more in front, never the bare domain.
		if t.address || len(labels) <= len(p.labels) {
			return false
		}
		labels = labels[len(labels)-len(p.labels):]
	}
	if len(labels) != len(p.labels) {
		return false
	}
	for i, pattern := range p.labels {
		q, err := parseTextGlob(pattern)
		if err != nil || !q.match([]rune(labels[i]), 0) {
			return false
		}
	}
	return true
}

// names reports whether the rule was written with this private host in mind:
// as itself, and not through a wildcard that happens to include it.
func (p *urlPattern) names(t webTarget) bool {
	if p.anyHost || p.deep || p.labels != nil && strings.HasPrefix(p.labels[0], "*") {
		return false
	}
	return p.coversHost(t)
}
