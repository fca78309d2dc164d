package permission

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Condition holds one named argument of a call to a value: exactly one of
// Equals, Glob, and Min with or without Max is set.
//
// For an allow the argument must be given once, under exactly this name, and
// the condition hold. For a deny or an ask a value of another type counts as
// a doubt, which asks.
type Condition struct {
	// Name is the argument's name, or a dotted path into nested objects.
	Name string `json:"name"`
	// Equals is any JSON value. Numbers compare by value, objects by content.
	Equals json.RawMessage `json:"equals,omitempty"`
	// Glob is matched over text: * is any text, ? one character, \ escapes.
	Glob string `json:"glob,omitempty"`
	// Min and Max are bounds on a number, both included.
	Min json.Number `json:"min,omitempty"`
	Max json.Number `json:"max,omitempty"`
}

// String is the condition as a person reads it.
func (c Condition) String() string {
	switch {
	case c.Equals != nil:
		return c.Name + " = " + string(c.Equals)
	case c.Min != "" && c.Max != "":
		return fmt.Sprintf("%s <= %s <= %s", c.Min, c.Name, c.Max)
	case c.Min != "":
		return c.Name + " >= " + c.Min.String()
	case c.Max != "":
		return c.Name + " <= " + c.Max.String()
	default:
		return fmt.Sprintf("%s like %q", c.Name, c.Glob)
	}
}

// Check says what is wrong with the condition and how to mend it.
func (c Condition) Check() error {
	_, err := c.compile()
	return err
}

func (c Condition) compile() ([]constraint, error) {
	kinds := 0
	for _, given := range []bool{c.Equals != nil, c.Glob != "", c.Min != "" || c.Max != ""} {
		if given {
			kinds++
		}
	}
	switch {
	case c.Name == "" || oddText(c.Name, "") != "":
		return nil, fmt.Errorf("a condition names no argument, or one with odd characters: %q", c.Name)
	case kinds != 1:
		return nil, fmt.Errorf("the condition on %s needs one of equals, glob, and min or max", c.Name)
	case c.Equals != nil:
		return c.equality()
	case c.Glob != "":
		q, err := parseTextGlob(c.Glob)
		return []constraint{{name: c.Name, op: opEqual, text: c.Glob, glob: q}}, err
	default:
		return c.bounds()
	}
}

func (c Condition) equality() ([]constraint, error) {
	a := decodeArgs([]byte(`{"v":` + string(c.Equals) + `}`))
	if a.fault != "" || len(a.members) != 1 {
		return nil, fmt.Errorf("the condition on %s: equals is not one JSON value: %s", c.Name, c.Equals)
	}
	out := constraint{name: c.Name, op: opEqual, text: string(c.Equals)}
	switch v := a.members[0].value.(type) {
	case string:
		out.text, out.glob = v, literal(v)
	case json.Number:
		n, ok := parseNumber(v.String())
		if !ok {
			return nil, fmt.Errorf("the condition on %s: the number %s is too large to compare", c.Name, v)
		}
		out.number = n
	case bool, nil:
		out.word = canonical(v)
	default:
		out.whole = canonical(v)
	}
	return []constraint{out}, nil
}

func (c Condition) bounds() ([]constraint, error) {
	var out []constraint
	for _, b := range []struct {
		op argOp
		n  json.Number
	}{{opAtLeast, c.Min}, {opAtMost, c.Max}} {
		if b.n == "" {
			continue
		}
		n, ok := parseNumber(b.n.String())
		if !ok {
			return nil, fmt.Errorf("the condition on %s: %q is not a number", c.Name, b.n)
		}
		out = append(out, constraint{name: c.Name, op: b.op, text: b.n.String(), number: n})
	}
	return out, nil
}

func conditions(where []Condition) ([]constraint, error) {
	var out []constraint
	var errs []error
	for _, c := range where {
		some, err := c.compile()
		out, errs = append(out, some...), append(errs, err)
	}
	return out, errors.Join(errs...)
}

// checkUses refuses a bound on uses that means nothing.
func checkUses(r Rule) error {
	switch {
	case r.MaxUses < 0 || r.Uses < 0:
		return errors.New("max_uses and uses must not be negative")
	case r.MaxUses > 0 && r.Effect != Allow:
		return fmt.Errorf("max_uses belongs to an allow, not to %s: remove it", r.Effect)
	default:
		return nil
	}
}

// describe is the rule's pattern with its conditions.
func (r Rule) describe() string {
	out := r.Pattern
	for i, c := range r.Where {
		join := " where "
		if i > 0 {
			join = " and "
		}
		out += join + c.String()
	}
	return out
}
