package permission

import "slices"

// subject is one thing a call does, as rules see it.
type subject interface {
	// forbids relates a deny or ask rule to it, one of those that the set's view of its tool has.
	forbids(r *compiled) answer
	// permits reports whether an allow rule covers it.
	permits(r *compiled) bool
	// by is the tool that does it.
	by() *Tool
}

// commandSubject is one simple command or statement of a command line.
type commandSubject struct {
	tool   *Tool
	part   *part
	places *places
}

func (s commandSubject) forbids(r *compiled) answer {
	found := s.forbidsFiles(r)
	if !r.tool.forbids(*s.tool) {
		return found
	}
	if r.bare {
		return yes
	}
	if r.cmd == nil {
		// A pattern that can't be read as a command may have meant anything.
		return max(found, maybe)
	}
	found = max(found, r.cmd.forbidsHeard(s.part.cmd, s.part.heardAs(), s.places.work))
	for _, c := range s.part.forms {
		found = max(found, r.cmd.forbids(c, s.places.work))
	}
	for _, c := range s.part.inner {
		if found == no && r.cmd.forbidsTail(c, s.places.work) != no {
			found = maybe
		}
	}
	return found
}

// forbidsFiles lets rules about files reach the files a command opens.
func (s commandSubject) forbidsFiles(r *compiled) answer {
	found := no
	for i := range s.part.touches {
		t := &s.part.touches[i]
		tool := readTool
		if t.write {
			tool = writeTool
		}
		if !r.tool.forbids(tool) {
			continue
		}
		switch {
		case r.bare && !t.target.loose:
			return yes
		case r.bare:
		case r.path == nil:
			found = max(found, maybe)
		default:
			found = max(found, r.path.forbids(&t.target, s.places))
			if t.target.unsure && !t.target.loose {
				found = max(found, maybe)
			}
		}
	}
	return found
}

func (s commandSubject) permits(r *compiled) bool {
	return r.tool.permits(*s.tool) && (r.bare || s.covered(r))
}

func (s commandSubject) covered(r *compiled) bool {
	if r.cmd == nil || s.part.bareOnly {
		return false
	}
	for child := s.part; child.parent != nil && !child.fed; child = child.parent {
		// An exact rule for a wrapper spells what is inside it too, but not
		// what comes in on its standard input.
		if r.cmd.exact && child.parent.covered(r) {
			return true
		}
	}
	if !r.cmd.exact && (s.part.hazard != "" || declares[s.part.cmd.name()] && !r.cmd.named()) {
		return false
	}
	return s.part.covered(r)
}

// declares are the builtins that change the shell: a rule must name them, a
// wildcard in front is not enough.
var declares = set("export declare typeset local readonly nameref unset set shopt eval trap alias source . exec enable hash builtin")

func (p *part) covered(r *compiled) bool {
	return slices.ContainsFunc(p.sayings(), r.cmd.permits)
}

// pathSubject is one file that is read or written.
type pathSubject struct {
	tool   *Tool
	target target
	places *places
	both   bool // it is written and read
}

func (s pathSubject) forbids(r *compiled) answer {
	general := readTool
	if s.tool.Kind == KindWrite {
		general = writeTool
	}
	if !r.tool.forbids(*s.tool) && !r.tool.forbids(general) && !(s.both && r.tool.forbids(readTool)) {
		return no
	}
	switch {
	case r.bare:
		return yes
	case r.path == nil:
		return maybe
	default:
		return r.path.forbids(&s.target, s.places)
	}
}

func (s pathSubject) permits(r *compiled) bool {
	return r.tool.permits(*s.tool) && (r.bare || r.path != nil && r.path.permits(s.target, s.places))
}

// urlSubject is one request.
type urlSubject struct {
	tool   *Tool
	target webTarget
}

func (s urlSubject) forbids(r *compiled) answer {
	switch {
	case r.bare:
		return yes
	case r.url == nil:
		return maybe
	default:
		return r.url.forbids(s.target)
	}
}

func (s urlSubject) permits(r *compiled) bool {
	return r.tool.permits(*s.tool) && (r.bare || r.url != nil && r.url.permits(s.target))
}

// argsSubject is a call judged by its arguments as a whole.
type argsSubject struct {
	tool *Tool
	args object
	text string // args, in canonical form
}

func (s argsSubject) forbids(r *compiled) answer {
	switch {
	case r.bare:
		return yes
	case r.args == nil:
		return maybe
	default:
		return r.args.forbids(s.args, s.text)
	}
}

func (s argsSubject) permits(r *compiled) bool {
	return r.tool.permits(*s.tool) && (r.bare || r.args != nil && r.args.permits(s.args, s.text))
}

func (s commandSubject) by() *Tool { return s.tool }

func (s pathSubject) by() *Tool { return s.tool }

func (s urlSubject) by() *Tool { return s.tool }

func (s argsSubject) by() *Tool { return s.tool }
