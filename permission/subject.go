package permission

// subject is one thing a call does, as rules see it.
type subject interface {
	// forbids relates a deny or ask rule to it, one of those that the set's view of its tool has; own tells that it is
	// about the tool itself, and not only about files.
	forbids(r *compiled, own bool) answer
	// permits reports whether an allow rule of its tool covers it.
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

func (s *commandSubject) forbids(r *compiled, own bool) answer {
	found := no
	if t := r.kin.tool; t.reads || t.writes {
		found = s.forbidsFiles(r)
	}
	switch {
	case !own:
		return found
	case r.bare():
		return yes
	case !r.has(asCmd):
		// A pattern that can't be read as a command may have meant anything.
		return max(found, maybe)
	}
	found = max(found, r.cmdForbids(s.part.cmd, s.part.heardAs(), s.places.work))
	for _, c := range s.part.forms {
		found = max(found, r.cmdForbids(c, nil, s.places.work))
	}
	for _, b := range s.part.behind {
		if found == no && r.cmdForbids(b.cmd, b.heardAs(), s.places.work) != no {
			found = maybe
		}
	}
	for _, c := range s.part.inner {
		if found == no && r.cmdForbidsTail(c, s.places.work) != no {
			found = maybe
		}
	}
	return found
}

// forbidsFiles lets rules about files reach the files a command opens.
func (s *commandSubject) forbidsFiles(r *compiled) answer {
	found := no
	for i := range s.part.touches {
		t := &s.part.touches[i]
		if reaches := r.kin.tool.reads; !t.write && !reaches || t.write && !r.kin.tool.writes {
			continue
		}
		switch {
		case r.bare() && !t.target.loose:
			return yes
		case r.bare():
		case !r.has(asPath):
			found = max(found, maybe)
		default:
			found = max(found, r.forbidsPath(&t.target, s.places))
			if t.target.unsure && !t.target.loose {
				found = max(found, maybe)
			}
		}
	}
	return found
}

func (s *commandSubject) permits(r *compiled) bool {
	return r.bare() || s.covered(r)
}

func (s *commandSubject) covered(r *compiled) bool {
	if !r.has(asCmd) || s.part.bareOnly {
		return false
	}
	exact := r.exactCmd()
	for child := s.part; child.parent != nil && !child.fed; child = child.parent {
		// An exact rule for a wrapper spells what is inside it too, but not
		// what comes in on its standard input.
		if exact && child.parent.covered(r) {
			return true
		}
	}
	if s.part.moved {
		return false
	}
	if !exact && (s.part.hazard != "" || s.part.heardAs().declares && !r.namesProgram()) {
		return false
	}
	return s.part.covered(r)
}

// declares are the builtins that change the shell: a rule must name them, a
// wildcard in front is not enough.
var declares = set("export declare typeset local readonly nameref unset set shopt eval trap alias source . exec enable hash builtin")

func (p *part) covered(r *compiled) bool {
	for i := range p.sayings() {
		if r.cmdPermits(&p.said[i]) {
			return true
		}
	}
	return false
}

// pathSubject is one file that is read or written.
type pathSubject struct {
	tool   *Tool
	target target
	places *places
	both   bool // it is written and read
}

func (s *pathSubject) forbids(r *compiled, own bool) answer {
	writes := s.tool.Kind == KindWrite
	if t := r.kin.tool; !own && !(writes && t.writes) && !((!writes || s.both) && t.reads) {
		return no
	}
	switch {
	case r.bare():
		return yes
	case !r.has(asPath):
		return maybe
	default:
		return r.forbidsPath(&s.target, s.places)
	}
}

// as is the subject with one path alone.
func (s *pathSubject) as(file string) *pathSubject {
	out := *s
	out.target.clean, out.target.real = file, file
	return &out
}

func (s *pathSubject) permits(r *compiled) bool {
	return r.bare() || r.has(asPath) && r.permitsPath(&s.target, s.places)
}

// urlSubject is one request.
type urlSubject struct {
	tool   *Tool
	target webTarget
}

func (s *urlSubject) forbids(r *compiled, _ bool) answer {
	switch {
	case r.bare():
		return yes
	case !r.has(asURL):
		return maybe
	default:
		return r.url().forbids(s.target)
	}
}

func (s *urlSubject) permits(r *compiled) bool {
	return r.bare() || r.has(asURL) && r.url().permits(s.target)
}

// argsSubject is a call judged by its arguments as a whole.
type argsSubject struct {
	tool *Tool
	args object
	text string // args, in canonical form
}

func (s *argsSubject) forbids(r *compiled, _ bool) answer {
	switch {
	case r.bare():
		return yes
	case !r.has(asArgs):
		return maybe
	default:
		return r.argsForbid(s.args, s.text)
	}
}

func (s *argsSubject) permits(r *compiled) bool {
	return r.bare() || r.has(asArgs) && r.argsPermit(s.args, s.text)
}

func (s *commandSubject) by() *Tool { return s.tool }

func (s *pathSubject) by() *Tool { return s.tool }

func (s *urlSubject) by() *Tool { return s.tool }

func (s *argsSubject) by() *Tool { return s.tool }
