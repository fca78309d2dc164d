package activities

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"holdpoint/permission"
)

// Bounds of what is remembered of decisions.
const (
	maxVerdicts = 1000
	verdictLife = 300 * time.Second
	// maxVerdictArgs and maxVerdictLinks leave out calls that are large or touch many files.
	maxVerdictArgs  = 16 << 10
	maxVerdictLinks = 64
	// maxSets and maxSetRules bound the compiled rules of users, by their number and by the rules in all of them.
	maxSets     = 256
	maxSetRules = 500_000
)

// memory keeps compiled rules, and the last decisions with everything that they depend on: nothing in it is ever found
// under a shortened key. The zero value is ready.
//
// It never says which rules are in force: their version is read from the store for each decision, in the transaction
// that claims an execution, and is a part of every key. So what is saved or revoked anywhere makes what is remembered
// unreachable, and a store that can't be reached is an error, whatever is remembered.
type memory struct {
	once     sync.Once
	verdicts *lru.Cache[verdictKey, rememberedVerdict]

	mu       sync.Mutex // guards the rest; no rules are compiled under it
	sets     *lru.Cache[rulesKey, *ruleSet]
	setRules int
	policies map[string]*knownPolicy
	outputs  map[string]*outputRules
	numbers  uint64
	fields   map[string][]string // of a schema, by its text
}

func (m *memory) ready() {
	m.once.Do(func() {
		// The sizes are positive, which is all that New refuses.
		m.verdicts, _ = lru.New[verdictKey, rememberedVerdict](maxVerdicts)
		m.sets, _ = lru.NewWithEvict(maxSets, func(_ rulesKey, s *ruleSet) { m.setRules -= s.size })
		m.policies, m.fields = map[string]*knownPolicy{}, map[string][]string{}
		m.outputs = map[string]*outputRules{}
	})
}

// rulesKey is equal for equal rules.
type rulesKey struct {
	policy        uint64 // the policy's rules, by knownPolicy.number
	user, session string
	version       int64  // of the stored rules
	expired       int    // how many of them have expired
	counted       string // the grants of which a use is the call's own
	common        bool   // of everyone for whom no rule is stored
}

// ruleSet is compiled rules.
type ruleSet struct {
	set      *permission.Set
	err      error       // deny and ask rules that can't be read
	expiries []time.Time // in order
	size     int
}

func compileSet(rules []permission.Rule) *ruleSet {
	s := &ruleSet{expiries: expiriesOf(rules), size: len(rules) + 1}
	s.set, _, s.err = permission.Compile(rules)
	return s
}

func expiriesOf(rules []permission.Rule) (out []time.Time) {
	for _, r := range rules {
		if !r.ExpiresAt.IsZero() {
			out = append(out, r.ExpiresAt)
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// results returns a policy's rules about outputs, compiled.
func (m *memory) results(policy string, rules []permission.Rule) *ruleSet {
	m.ready()
	m.mu.Lock()
	k := m.outputs[policy]
	m.mu.Unlock()
	if k != nil && sameRules(k.rules, rules) {
		return k.set
	}
	set := compileSet(rules)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outputs[policy] = &outputRules{rules, set}
	return set
}

// outputRules are a policy's rules about outputs as they were last seen.
type outputRules struct {
	rules []permission.Rule
	set   *ruleSet
}

// expired is how many of the rules no longer count at a time.
func expired(expiries []time.Time, now time.Time) int {
	n, _ := slices.BinarySearchFunc(expiries, now, func(e, now time.Time) int {
		if e.After(now) {
			return 1
		}
		return -1
	})
	return n
}

// set returns the compiled rules of a key; the key's expired plays no part.
func (m *memory) set(key rulesKey) (*ruleSet, bool) {
	m.ready()
	m.mu.Lock()
	defer m.mu.Unlock()
	key.expired = 0
	return m.sets.Get(key)
}

// keepSet remembers compiled rules. Those of a call's own count are for one decision only.
func (m *memory) keepSet(key rulesKey, s *ruleSet) {
	if key.counted != "" {
		return
	}
	m.ready()
	m.mu.Lock()
	defer m.mu.Unlock()
	key.expired = 0
	if _, there := m.sets.Peek(key); there {
		return
	}
	m.sets.Add(key, s)
	m.setRules += s.size
	for m.setRules > maxSetRules && m.sets.Len() > 1 {
		m.sets.RemoveOldest()
	}
}

// knownPolicy is a policy's rules as they were last seen.
type knownPolicy struct {
	rules  []permission.Rule
	found  bool
	number uint64
}

// policy returns a number that is the same for the same rules of a policy, as long as this process lives. Rules that
// are the very same slice are the same.
func (m *memory) policy(name string, rules []permission.Rule, found bool) uint64 {
	m.ready()
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.policies[name]
	if k != nil && k.found == found && sameRules(k.rules, rules) {
		return k.number
	}
	m.numbers++
	m.policies[name] = &knownPolicy{rules, found, m.numbers}
	return m.numbers
}

func sameRules(a, b []permission.Rule) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || reflect.DeepEqual(a, b)
}

// schemaFields lists the argument names that a schema knows.
func (m *memory) schemaFields(schema []byte) []string {
	m.ready()
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.fields[string(schema)]; ok {
		return f
	}
	f := schemaFields(schema)
	if len(m.fields) < maxSets {
		m.fields[string(schema)] = f
	}
	return f
}

// verdictKey is everything that a decision depends on, but for where paths lead.
type verdictKey struct {
	rules                 rulesKey
	readable, permissions bool
	workspace, home       string
	tool, server, field   string
	fields                string
	kind                  permission.Kind
	consent               permission.Consent
	risk                  permission.Risk
	args                  string
}

// keyOf makes a decision's key; ok is false for a call that is not worth remembering. The arguments are taken as they
// are written: the same object written in another way is decided anew, and one with a key twice is never mistaken for
// one without.
func keyOf(in inForce, c permission.Call, permissions bool) (k verdictKey, ok bool) {
	if len(c.Args) > maxVerdictArgs {
		return k, false
	}
	fields := "-" // open
	if c.Tool.Fields != nil {
		fields = strings.Join(c.Tool.Fields, "\x00") + "+"
	}
	return verdictKey{rules: in.key, readable: in.readable, permissions: permissions, workspace: c.Workspace, home: c.Home,
		tool: c.Tool.Name, server: c.Tool.Server, field: c.Tool.Field, fields: fields, kind: c.Tool.Kind, consent: c.Tool.Consent,
		risk: c.Tool.Risk, args: string(c.Args)}, true
}

// rememberedVerdict is a decision with where the paths led that it looked at.
type rememberedVerdict struct {
	decision permission.Decision
	links    []link
	at       time.Time
}

// link is what a path resolved to.
type link struct {
	path, real string
	failed     bool
}

// verdict returns a remembered decision, if it is young and every path still leads where it led.
func (m *memory) verdict(k verdictKey, now time.Time) (permission.Decision, bool) {
	m.ready()
	v, ok := m.verdicts.Get(k)
	if !ok || now.Before(v.at) || now.Sub(v.at) >= verdictLife {
		return permission.Decision{}, false
	}
	for _, l := range v.links {
		real, err := resolveLinks(l.path)
		if real != l.real || (err != nil) != l.failed {
			return permission.Decision{}, false
		}
	}
	return cloneDecision(v.decision), true
}

func (m *memory) keepVerdict(k verdictKey, d permission.Decision, links []link, now time.Time) {
	if len(links) <= maxVerdictLinks {
		m.ready()
		m.verdicts.Add(k, rememberedVerdict{cloneDecision(d), links, now})
	}
}

// cloneDecision keeps whoever gets a decision from changing what is remembered.
func cloneDecision(d permission.Decision) permission.Decision {
	d.Reasons, d.Grants, d.Parts = slices.Clone(d.Reasons), slices.Clone(d.Grants), slices.Clone(d.Parts)
	d.SuggestedPatterns, d.Paths = slices.Clone(d.SuggestedPatterns), slices.Clone(d.Paths)
	d.Approval.Reviewers = slices.Clone(d.Approval.Reviewers)
	d.Approval.Escalate = slices.Clone(d.Approval.Escalate)
	if d.Matched != nil {
		r := *d.Matched
		d.Matched = &r
	}
	return d
}
