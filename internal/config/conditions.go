package config

import (
	"encoding/json"
	"strconv"

	"gopkg.in/yaml.v3"

	"holdpoint/permission"
)

// conditions reads where a rule holds single arguments to values.
func (s *section) conditions() []permission.Condition {
	n, ok := s.take("where")
	if !ok {
		return nil
	}
	most := s.spec("where").most
	if n.Kind != yaml.SequenceNode || len(n.Content) > most {
		s.report("where", n.Line, "must be a list of at most %d conditions, such as %q", most, "- {name: amount, max: 100}")
		return nil
	}
	var out []permission.Condition
	for i, item := range n.Content {
		c := s.l.section(s.file, s.prefix+"where["+strconv.Itoa(i)+"].", item, &conditionKeys)
		if c == nil {
			continue
		}
		before := len(s.l.problems)
		c.require()
		out = append(out, permission.Condition{Name: c.text("name"), Equals: c.json("equals"), Glob: c.text("glob"), Min: c.number("min"), Max: c.number("max")})
		c.finish()
		if len(s.l.problems) > before {
			continue
		}
		if err := out[len(out)-1].Check(); err != nil {
			s.report("where["+strconv.Itoa(i)+"]", item.Line, "%v", err)
		}
	}
	return out
}

// json returns any value as JSON, nil when it is not there or wrong.
func (s *section) json(key string) json.RawMessage {
	n, ok := s.take(key)
	if !ok {
		return nil
	}
	out, err := json.Marshal(s.value(key, n, 0))
	if err != nil {
		s.report(key, n.Line, "is no value that JSON could have")
		return nil
	}
	return out
}

// number returns a number as it is written, "" when it is not there or wrong.
func (s *section) number(key string) json.Number {
	v, ok := s.scalar(key, "a number")
	if !ok {
		return ""
	}
	var out json.Number
	if v.tag != "!!int" && v.tag != "!!float" || json.Unmarshal([]byte(v.text), &out) != nil {
		s.report(key, v.line, "must be a number such as 100 or 0.5, not %q", v.raw)
		return ""
	}
	return out
}

// examples are the calls that are written under a rule, with the lines they are on.
type examples struct {
	rule  permission.Rule
	key   string // of the section
	calls []exampleCall
	// result: the rule is about results, and has no examples.
	result bool
}

type exampleCall struct {
	scalar
	key  string
	want permission.Effect
}

// examples reads what must be decided on some calls.
func (s *section) examples() examples {
	out := examples{}
	n, ok := s.take("examples")
	if !ok {
		return out
	}
	e := s.l.section(s.file, s.prefix+"examples.", n, &exampleKeys)
	if e == nil {
		return out
	}
	out.key = e.prefix
	for _, want := range []permission.Effect{permission.Allow, permission.Ask, permission.Deny} {
		for _, v := range e.list(want.String()) {
			out.calls = append(out.calls, exampleCall{v, want.String(), want})
		}
	}
	e.finish()
	return out
}

// checkExamples reports every example that the whole policy decides differently.
func (s *section) checkExamples(set *permission.Set, all []examples) {
	for _, e := range all {
		for _, c := range e.calls {
			one := permission.Examples{}
			switch c.want {
			case permission.Allow:
				one.Allow = []string{c.text}
			case permission.Deny:
				one.Deny = []string{c.text}
			case permission.Ask:
				one.Ask = []string{c.text}
			}
			for _, bad := range set.CheckExamples(e.rule, one, permission.Setting{}) {
				s.l.report(s.file, c.line, e.key+c.key, "%s", wrongExample(bad, c.scalar))
			}
		}
	}
}

// wrongExample says what is decided instead, without what a variable holds.
func wrongExample(bad *permission.ExampleError, written scalar) string {
	switch {
	case written.expanded && bad.Problem != "":
		return strconv.Quote(written.raw) + " can't be checked once its variables are filled in"
	case written.expanded:
		return strconv.Quote(written.raw) + " is decided " + bad.Got.String()
	case bad.Problem != "":
		return strconv.Quote(written.raw) + " " + bad.Problem
	}
	text := strconv.Quote(written.raw) + " is decided " + bad.Got.String()
	if m := bad.Decision.Matched; m != nil {
		return text + " by " + m.Pattern + " (line " + strconv.Itoa(m.Source.Line) + ")"
	}
	return text + ": no rule decides it, only the tool's default"
}
