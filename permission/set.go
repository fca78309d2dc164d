package permission

// Set is a compiled set of rules. It is immutable and safe for concurrent use.
type Set struct{}

// ParsePattern checks the syntax of a pattern.
func ParsePattern(effect Effect, pattern string) error {
	if pattern == "" {
		return errEmptyPattern
	}
	return nil
}

// Compile prepares rules for deciding.
func Compile(rules []Rule) (*Set, []Problem, error) { return &Set{}, nil, nil }

// Decide answers one call.
func (s *Set) Decide(c Call) Decision {
	return Decision{Effect: Ask, Reason: "No rule allows this call.", Approval: Approval{MaxGrant: GrantUser}}
}

// Explain writes a decision in plain words.
func Explain(d Decision) string { return d.Effect.String() + ": " + d.Reason }

// BuiltinTool is the specification of a tool by its usual name.
func BuiltinTool(name string) Tool { return Tool{Name: name} }
