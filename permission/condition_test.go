package permission

import (
	"slices"
	"strings"
	"testing"
)

func where(c ...Condition) []Condition { return c }

func TestConditionsOnArguments(t *testing.T) {
	t.Parallel()
	amount := Condition{Name: "amount", Max: "100", Min: "0"}
	for name, c := range map[string]struct {
		effect Effect
		where  []Condition
		args   string
		want   Effect
	}{
		"a bound that holds":                  {Allow, where(amount), `{"amount":100}`, Allow},
		"by value, not by spelling":           {Allow, where(amount), `{"amount":1e2}`, Allow},
		"a bound that does not":               {Allow, where(amount), `{"amount":100.01}`, Ask},
		"below the lower bound":               {Allow, where(amount), `{"amount":-1}`, Ask},
		"a number as text":                    {Allow, where(amount), `{"amount":"5"}`, Ask},
		"a missing argument":                  {Allow, where(amount), `{}`, Ask},
		"a name in another case":              {Allow, where(amount), `{"amount":5,"Amount":5}`, Ask},
		"text that is equal":                  {Allow, where(Condition{Name: "to", Equals: []byte(`"a*"`)}), `{"to":"a*"}`, Allow},
		"a star in equals is itself":          {Allow, where(Condition{Name: "to", Equals: []byte(`"a*"`)}), `{"to":"ab"}`, Ask},
		"the empty text":                      {Allow, where(Condition{Name: "to", Equals: []byte(`""`)}), `{"to":""}`, Allow},
		"a word":                              {Allow, where(Condition{Name: "dry", Equals: []byte(`true`)}), `{"dry":true}`, Allow},
		"another word":                        {Allow, where(Condition{Name: "dry", Equals: []byte(`true`)}), `{"dry":false}`, Ask},
		"null":                                {Allow, where(Condition{Name: "dry", Equals: []byte(`null`)}), `{"dry":null}`, Allow},
		"an equal number":                     {Allow, where(Condition{Name: "n", Equals: []byte(`1.0`)}), `{"n":1}`, Allow},
		"an equal object, whatever its order": {Allow, where(Condition{Name: "o", Equals: []byte(`{"a":1,"b":[2]}`)}), `{"o":{"b":[2.0],"a":1}}`, Allow},
		"another object":                      {Allow, where(Condition{Name: "o", Equals: []byte(`{"a":1}`)}), `{"o":{"a":2}}`, Ask},
		"an object for a text":                {Allow, where(Condition{Name: "o", Equals: []byte(`"x"`)}), `{"o":{"a":2}}`, Ask},
		"a glob":                              {Allow, where(Condition{Name: "to", Glob: "*@example.com"}), `{"to":"bob@example.com"}`, Allow},
		"a glob that does not match":          {Allow, where(Condition{Name: "to", Glob: "*@example.com"}), `{"to":"bob@example.org"}`, Ask},
		"a nested name":                       {Allow, where(Condition{Name: "a.b", Equals: []byte(`1`)}), `{"a":{"b":1}}`, Allow},
		"two conditions, one fails":           {Allow, where(amount, Condition{Name: "to", Glob: "bob"}), `{"amount":1,"to":"ada"}`, Ask},
		"a deny whose condition holds":        {Deny, where(amount), `{"amount":5}`, Deny},
		"a deny whose condition does not":     {Deny, where(amount), `{"amount":500}`, Allow},
		"a deny and another type":             {Deny, where(amount), `{"amount":"5"}`, Ask},
		"a deny and no such argument":         {Deny, where(amount), `{}`, Allow},
		"an ask whose condition holds":        {Ask, where(amount), `{"amount":5}`, Ask},
		"an ask whose condition does not":     {Ask, where(amount), `{"amount":500}`, Allow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := []Rule{{Effect: c.effect, Pattern: "mcp__bank__pay", Where: c.where}}
			if c.effect != Allow {
				rules = append(rules, Rule{Effect: Allow, Pattern: "mcp__bank__*"})
			}
			set, problems, err := Compile(rules)
			if err != nil || problems != nil {
				t.Fatal(err, problems)
			}
			call := Call{Tool: BuiltinTool("mcp__bank__pay"), Args: []byte(c.args)}
			if d := set.Decide(call); d.Effect != c.want {
				t.Errorf("want %s, got %s", c.want, Explain(call, d))
			}
		})
	}
}

func TestConditionsHoldForEveryTool(t *testing.T) {
	t.Parallel()
	set, _, err := Compile([]Rule{{Effect: Allow, Pattern: "file_write(./**)", Where: where(Condition{Name: "content", Glob: "#*"})},
		{Effect: Allow, Pattern: "bash"}, {Effect: Deny, Pattern: "bash(rm:*)", Where: where(Condition{Name: "command", Glob: "*--force*"})}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, args string
		want       Effect
	}{
		{"file_write", `{"path":"a","content":"# x"}`, Allow}, {"file_write", `{"path":"a","content":"x"}`, Ask},
		{"bash", `{"command":"rm x"}`, Allow}, {"bash", `{"command":"rm --force x"}`, Deny},
		{"bash", `{"command":"rm --force x ("}`, Deny}, {"bash", `{"command":"rm x ("}`, Ask},
	} {
		call := Call{Tool: BuiltinTool(c.tool), Args: []byte(c.args), Workspace: "/w"}
		if d := set.Decide(call); d.Effect != c.want {
			t.Errorf("%s: want %s, got %s", c.args, c.want, Explain(call, d))
		}
	}
}

func TestBadConditionsAreRefused(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]Condition{
		"names no argument":     {Glob: "x"},
		"odd characters":        {Name: "a\u200b", Glob: "x"},
		"needs one of":          {Name: "a"},
		"equals, glob, and min": {Name: "a", Glob: "x", Min: "1"},
		"not one JSON value":    {Name: "a", Equals: []byte(`1,"w":2`)},
		"is not one JSON":       {Name: "a", Equals: []byte(`x`)},
		"too large":             {Name: "a", Equals: []byte(`1e9999`)},
		`"ten" is not a number`: {Name: "a", Max: "ten"},
		`"-" is not a number`:   {Name: "a", Min: "-"},
		"lone":                  {Name: "a", Glob: `x\`},
	} {
		err := c.Check()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %q is not in %v", c, text, err)
		}
		r := Rule{Effect: Allow, Pattern: "custom", Where: where(c)}
		if _, problems, _ := Compile([]Rule{r}); len(problems) != 1 {
			t.Errorf("%+v: an allow with it takes part", c)
		}
		r.Effect = Deny
		if _, _, err := Compile([]Rule{r}); err == nil {
			t.Errorf("%+v: a deny with it loads", c)
		}
	}
	if err := (Condition{Name: "a", Min: "1"}).Check(); err != nil {
		t.Error(err)
	}
	for want, c := range map[string]Condition{
		"a = 1": {Name: "a", Equals: []byte("1")}, "1 <= a <= 2": {Name: "a", Min: "1", Max: "2"}, "a >= 1": {Name: "a", Min: "1"},
		"a <= 2": {Name: "a", Max: "2"}, `a like "x*"`: {Name: "a", Glob: "x*"},
	} {
		if c.String() != want {
			t.Errorf("%q, not %q", c, want)
		}
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		max, uses int
		want      Effect
	}{
		"no bound": {0, 99, Allow}, "one left": {3, 2, Allow}, "used up": {3, 3, Ask}, "more than used up": {3, 4, Ask},
		"a negative bound": {-1, 0, Ask}, "a negative count": {3, -1, Ask},
	} {
		g := stored(LayerUser, "u1", "")
		g.MaxUses, g.Uses = c.max, c.uses
		set, _, err := Compile([]Rule{g})
		if err != nil {
			t.Fatal(err)
		}
		if d := set.Decide(bashCall("ls; ls -a")); d.Effect != c.want || c.want == Allow && !slices.Equal(d.Grants, []string{"g"}) || c.want != Allow && d.Grants != nil {
			t.Errorf("%s: got %s, grants %v", name, d.Effect, d.Grants)
		}
	}
	if _, _, err := Compile([]Rule{{Effect: Deny, Pattern: "bash", MaxUses: 2}}); err == nil || !strings.Contains(err.Error(), "max_uses belongs to an allow") {
		t.Errorf("a deny that wears out: %v", err)
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	past := []Call{bashCall("ls -a"), bashCall("ls; id"), bashCall("id"), bashCall("ls $("), bashCall("echo $(ls)"),
		{Tool: BuiltinTool("file_read"), Args: []byte(`{"path":"a"}`), Workspace: "/w"}, {Tool: BuiltinTool("bash"), Args: []byte(`{"command":"ls","command":"ls"}`)}}
	expired := stored(LayerSession, "u2", "s2")
	expired.ExpiresAt, expired.MaxUses, expired.Uses = noon.Add(-1), 1, 1
	for name, c := range map[string]struct {
		rule Rule
		want []int
	}{
		"a grant":               {Rule{Effect: Allow, Pattern: "bash(ls:*)"}, []int{0, 1, 4}},
		"scope and age aside":   {expired, []int{0, 1, 4}},
		"a deny sees more":      {Rule{Effect: Deny, Pattern: "bash(ls:*)"}, []int{0, 1, 3, 4, 6}},
		"a default is no match": {Rule{Effect: Allow, Pattern: "bash(nothing)"}, nil},
		"a path":                {Rule{Effect: Allow, Pattern: "file_read(./**)"}, []int{5}},
		"a malformed rule":      {Rule{Effect: Deny, Pattern: "bash("}, nil},
		"a refused rule":        {Rule{Effect: Allow, Pattern: "*"}, nil},
	} {
		if got := Preview(c.rule, past); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
