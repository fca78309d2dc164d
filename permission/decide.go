package permission

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// evaluation is the deciding of one call.
type evaluation struct {
	set     *Set
	call    Call
	places  *places
	args    arguments
	faults  []string
	results []outcome
	paths   []string
	noted   map[string]bool // what is in paths
	res     string
	script  bool // the results are parts to show
	private bool // a URL's host is private by itself
	// hits are the denies and asks that matched, of all outcomes; allowed and restricted are room for what is looked up.
	hits                []*compiled
	allowed, restricted []int32
	// view is what of the set concerns a tool, the last that was looked at.
	viewOf *Tool
	view   *view
}

// outcome is the decision on one part.
type outcome struct {
	effect  Effect
	text    string
	reason  string
	rule    *compiled
	given   *Rule       // rule as it was given, once it was asked for
	layer   Layer       // where no rule decided
	matched []*compiled // every deny or ask that matched
	// final: no grant could change it.
	final bool
	// subject and part are kept for suggestions.
	subject subject
	part    *part
}

// Decide answers one call. It never panics: what goes wrong inside asks, and
// a deny that was found before stays.
func (s *Set) Decide(c Call) (d Decision) {
	defer func() {
		if recover() != nil {
			d = Decision{Effect: Ask, Reason: "The call could not be analysed, so a person must decide.",
				Risk: c.Tool.Risk, Approval: Approval{MaxGrant: GrantNone}}
			d.Reasons = []Reason{{Effect: Ask, Text: d.Reason, Source: Source{Layer: LayerDefault}}}
		}
	}()
	e := s.evaluate(c)
	d = e.decision()
	if d.Effect == Ask && len(e.faults) == 0 && !e.anyFinal() {
		d.SuggestedPatterns = e.suggestions()
		d.SuggestTogether = len(d.SuggestedPatterns) > 1 && e.together()
	}
	return d
}

func (s *Set) evaluate(c Call) *evaluation {
	e := &evaluation{set: s, call: c, places: newPlaces(c), args: decodeArgs(c.Args)}
	if fault := e.call.Tool.fault(); fault != "" {
		e.fault(fault)
	}
	e.safely(e.checkFields)
	for i := range s.broken {
		if b := &s.broken[i]; b.concerns(&e.call.Tool) {
			e.fault(fmt.Sprintf("the %s rule %q cannot be read and might forbid this", b.rule.Effect, b.rule.Pattern))
			break
		}
	}
	e.safely(e.judgeAll)
	return e
}

// judgeAll goes by the kind of the tool.
func (e *evaluation) judgeAll() {
	switch e.call.Tool.Kind {
	case KindCommand:
		e.commands()
	case KindRead, KindWrite:
		e.files()
	case KindURL:
		e.urls()
	case KindOther, KindMCP:
		e.others()
	default:
		e.fault("the kind of the tool is not known")
		e.others()
	}
}

func (e *evaluation) fault(text string) { e.faults = append(e.faults, text) }

func (e *evaluation) anyFinal() bool {
	return slices.ContainsFunc(e.results, func(o outcome) bool { return o.final })
}

// checkFields holds the arguments against the tool's closed set of names.
func (e *evaluation) checkFields() {
	t := e.call.Tool
	if e.args.fault != "" {
		return
	}
	for _, m := range e.args.members {
		switch {
		case oddText(m.name, "") != "":
			e.args.fault = "an argument's name contains " + oddText(m.name, "")
		case t.Field != "" && m.name != t.Field && foldString(m.name) == foldString(t.Field):
			e.args.fault = fmt.Sprintf("the argument %q differs from %q only in case", m.name, t.Field)
		case t.Fields != nil && !slices.Contains(t.Fields, m.name):
			e.args.fault = fmt.Sprintf("the tool has no argument %q", m.name)
		case slices.Contains(textFields, m.name) && t.Fields != nil && !isText(m.value):
			e.args.fault = fmt.Sprintf("the argument %q must be text", m.name)
		}
	}
}

// textFields are text in every tool that has a closed set of arguments.
var textFields = []string{"command", "path", "content", "old", "new", "url", "method"}

func isText(v any) bool { _, ok := v.(string); return ok }

// values are the texts of the tool's main argument; more than one when it is
// given twice or in another case, which is a fault but must not dodge a deny.
func (e *evaluation) values(field string) []string {
	exact, variants := e.args.members.named(field)
	var out []string
	for _, v := range append(exact, variants...) {
		if text, ok := v.(string); ok {
			out = append(out, text)
		} else if e.args.fault == "" {
			e.args.fault = fmt.Sprintf("the argument %q must be text", field)
		}
	}
	if len(out) == 0 {
		if e.args.fault == "" {
			e.args.fault = fmt.Sprintf("the argument %q is missing", field)
		}
		return []string{""}
	}
	return out
}

func (e *evaluation) files() {
	for _, v := range e.values(e.call.Tool.Field) {
		t := e.places.locate(v, e.call.Workspace)
		e.res = t.clean
		if t.clean == "" {
			e.res = v
		}
		e.notePath(t)
		e.judge(&pathSubject{&e.call.Tool, t, e.places, false}, nil, t.fault, v)
	}
}

func (e *evaluation) notePath(t target) {
	if t.clean == "" {
		return
	}
	for _, p := range t.both() {
		if !e.noted[p] {
			if e.noted == nil {
				e.noted = map[string]bool{}
			}
			e.noted[p] = true
			e.paths = append(e.paths, p)
		}
	}
}

func (e *evaluation) urls() {
	methods := []string{"GET"}
	if exact, variants := e.args.members.named("method"); len(exact)+len(variants) > 0 {
		methods = nil
		for _, v := range append(exact, variants...) {
			text, _ := v.(string)
			methods = append(methods, text)
		}
	}
	headerFault := e.headers()
	for _, v := range e.values(e.call.Tool.Field) {
		for _, m := range methods {
			t := parseTarget(v, m)
			if t.fault == "" {
				t.fault = headerFault
			}
			e.res = t.method + " " + v
			e.private = e.private || t.private
			s := &urlSubject{&e.call.Tool, t}
			if t.private && !e.call.Ran && !e.namesPrivate(t) {
				e.results = append(e.results, outcome{effect: Deny, text: v, subject: s, layer: LayerProtected,
					reason: "the host is this machine or a private network, and no rule names it"})
			}
			e.judge(s, nil, t.fault, v)
		}
	}
}

// headers finds request headers that change where a request goes or what it
// does.
func (e *evaluation) headers() string {
	exact, variants := e.args.members.named("headers")
	for _, v := range append(exact, variants...) {
		o, ok := v.(object)
		if !ok {
			return "the headers are not an object"
		}
		for _, m := range o {
			name := foldString(m.name)
			if name == "host" || name == ":authority" || strings.HasPrefix(name, "x-forwarded") || strings.HasPrefix(name, "proxy-") ||
				strings.Contains(name, "override") || strings.HasPrefix(name, "x-http-method") || strings.HasPrefix(name, "x-original") || strings.HasPrefix(name, "x-rewrite") {
				return fmt.Sprintf("the header %q can send the request elsewhere", m.name)
			}
		}
	}
	return ""
}

func (e *evaluation) namesPrivate(t webTarget) bool {
	names := func(r *compiled) bool { return r.has(asURL) && e.inScope(r) && r.url().names(t) }
	for i := range e.set.allows {
		if r := &e.set.allows[i]; names(r) && r.kin.tool.permits(&e.call.Tool) {
			return true
		}
	}
	for i := range e.set.restricts[e.set.denies:] {
		if r := &e.set.restricts[e.set.denies+i]; names(r) && r.kin.tool.forbids(&e.call.Tool) {
			return true
		}
	}
	return false
}

func (e *evaluation) others() {
	e.res = canonical(e.args.members)
	s := &argsSubject{&e.call.Tool, e.args.members, e.res}
	fault := ""
	if e.call.Tool.Consent != ConsentNever {
		if odd := oddIn(e.args.members); odd != "" {
			fault = "the arguments contain " + odd
		}
	}
	e.judge(s, nil, fault, e.res)
}

// about is [Set.about], for the tool of one part after the other.
func (e *evaluation) about(t *Tool) *view {
	if e.viewOf != t {
		e.viewOf, e.view = t, e.set.about(t)
	}
	return e.view
}

// judge decides on one subject and records the outcome.
func (e *evaluation) judge(s subject, p *part, fault, text string) {
	o := e.room()
	o.effect, o.text, o.subject, o.part, o.layer = Ask, text, s, p, LayerDefault
	v := e.about(s.by())
	first, denies, doubted := len(e.hits), 0, -1
	for _, i := range e.restricting(v, s) {
		r := &e.set.restricts[i]
		switch e.forbids(s, r, v.owns(r)) {
		case yes:
			e.hits = append(e.hits, r)
			if int(i) < e.set.denies {
				denies++
			}
		case maybe:
			if doubted < 0 {
				doubted = int(i)
			}
		case no:
		}
	}
	hits := e.hits[first:len(e.hits):len(e.hits)] // denies, then asks
	switch {
	case denies > 0:
		o.decide(Deny, hits[0], "a deny rule matches")
		o.matched = hits
	case fault != "":
		o.matched, o.final, o.reason = hits, true, fault
	case doubted >= 0:
		r := e.set.restricts[doubted].rule()
		o.matched, o.final, o.reason = hits, true, fmt.Sprintf("it may be what the %s rule %s is about", r.Effect, r.Pattern)
	default:
		e.weigh(v, o, hits)
	}
}

// room is an outcome at the end of the results.
func (e *evaluation) room() *outcome {
	n := len(e.results)
	if n == cap(e.results) {
		e.results = append(e.results, outcome{})
	} else {
		e.results = e.results[:n+1]
		e.results[n] = outcome{}
	}
	return &e.results[n]
}

// source is where the rule was written that decided, or the layer that did.
func (o *outcome) source() Source {
	if o.rule == nil {
		return Source{Layer: o.layer}
	}
	return o.written().Source
}

// written is the rule that decided, as it was given.
func (o *outcome) written() *Rule {
	if o.given == nil {
		r := o.rule.rule()
		o.given = &r
	}
	return o.given
}

func (o *outcome) decide(effect Effect, r *compiled, reason string) {
	o.effect, o.rule, o.reason = effect, r, reason
}

// shortest is the smaller of two durations, where zero is none.
func shortest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
