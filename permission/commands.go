package permission

func (e *evaluation) commands() {
	e.script = true
	for _, v := range e.values(e.call.Tool.Field) {
		e.res = v
		p := e.places
		s := &script{places: p, watch: e.set.watchesFiles}
		s.suspectUnless(e.safely(func() { s.script(v, cwd{e.call.Workspace}, nil) }), v)
		if len(s.parts) > maxParts {
			s.fault("the command has more than %d parts", maxParts)
		}
		for _, f := range s.faults {
			e.fault(f)
		}
		for i, part := range s.parts {
			e.safely(func() { e.commandPart(part, i >= maxParts) })
		}
		if s.linked && s.opens() {
			e.fault("the command makes a link and opens a file, which may then be another file")
		}
		e.safely(func() { e.suspected(s) })
		if p.work.over() {
			e.fault("deciding about the command takes too much work")
		}
		if len(s.parts) == 0 {
			e.judge(&commandSubject{&e.call.Tool, &part{}, p}, nil, "there is no command to approve", v)
		}
	}
}

// opens reports whether the line writes a file, or a file that rules are about
// is opened by another command than the one that makes links.
func (s *script) opens() bool {
	for _, p := range s.parts {
		if p.kind == partWrite || p.kind == partRead || len(p.touches) > 0 && p.cmd.name() != "ln" {
			return true
		}
	}
	return false
}

// suspectUnless tries deny on all of the text where taking it apart went wrong.
func (s *script) suspectUnless(done bool, text string) {
	if !done {
		s.suspect(text)
	}
}

// safely runs one step. A panic in it is a fault; what other steps found
// stays.
func (e *evaluation) safely(step func()) (ok bool) {
	defer func() {
		if recover() != nil {
			e.fault("a part of the call could not be analysed")
			ok = false
		}
	}()
	step()
	return true
}

// commandPart decides one part; where there is too much, only denies count.
func (e *evaluation) commandPart(p *part, deniesOnly bool) {
	if deniesOnly || e.places.work.over() {
		e.denied(p)
		return
	}
	fault := p.doubt
	switch p.kind {
	case partRead, partWrite:
		fault = p.target.fault
		e.notePath(p.target)
	case partCommand, partStatement:
		for _, t := range p.touches {
			if !t.target.loose {
				e.notePath(t.target)
			}
		}
	}
	e.judge(e.subjectOf(p), p, fault, p.text)
}

// suspected tries deny on what was found in text that could not be parsed.
// Each piece is unwrapped on its own, so that the memory does not grow with
// the text.
func (e *evaluation) suspected(s *script) {
	tails := s.tails
	for _, c := range s.suspects {
		one := &script{places: e.places, watch: s.watch, depth: maxScripts}
		w := &walker{script: one}
		w.suspectRun(c)
		for _, p := range one.parts {
			p.inner, p.behind = nil, nil // a doubt, and there is one already
			if e.denied(p) {
				return
			}
		}
		tails = append(tails, one.tails...)
	}
	for _, c := range tails {
		for i := range e.set.restricts[:e.set.denies] {
			r := &e.set.restricts[i]
			if r.has(asCmd) && r.kin.tool.forbids(&e.call.Tool) && e.inScope(r) && r.where() == nil && r.cmdForbidsTail(c, e.places.work) == yes {
				e.refuse(r, &part{kind: partCommand, text: shortened(c.show()), cmd: c})
				return
			}
		}
	}
}

// denied records the first deny that matches a part, and looks at nothing
// else.
func (e *evaluation) denied(p *part) bool {
	sub := e.subjectOf(p)
	v := e.about(sub.by())
	for _, i := range e.restricting(v, sub) {
		if r := &e.set.restricts[i]; int(i) < e.set.denies && e.forbids(sub, r, v.owns(r)) == yes {
			e.refuse(r, p)
			return true
		}
	}
	return false
}

func (e *evaluation) refuse(r *compiled, p *part) {
	o := outcome{text: p.text, subject: e.subjectOf(p), part: p, matched: []*compiled{r}}
	o.decide(Deny, r, "a deny rule matches part of the command")
	e.results = append(e.results, o)
}

func (e *evaluation) subjectOf(p *part) subject {
	switch p.kind {
	case partRead:
		return &pathSubject{&readTool, p.target, e.places, false}
	case partWrite:
		return &pathSubject{&writeTool, p.target, e.places, len(p.touches) > 0}
	default: // commands and statements
		return &commandSubject{&e.call.Tool, p, e.places}
	}
}
