package scripted_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/llm"
	"holdpoint/llm/scripted"
)

func TestMistakesAreNamedWithTheirLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "s.yaml: the script is empty"},
		{"a comment only", "# nothing\n", "the script is empty"},
		{"not YAML", "turns:\n  - say: [\n", "s.yaml:"},
		{"a list at the top", "- say: hi\n", "s.yaml:1: a script must be a mapping"},
		{"no turns", "turns: []\n", "s.yaml:1: a script needs turns"},
		{"turns that are no list", "turns: {say: hi}\n", "s.yaml:1: turns must be a list"},
		{"an unknown key", "turns:\n  - say: hi\n    sya: ho\n", `s.yaml:3: a turn has no key "sya"; it knows when, say, calls`},
		{"an unknown condition", "turns:\n  - say: hi\n    when:\n      tool: bash\n", `s.yaml:4: when has no key "tool"`},
		{"a key twice", "turns:\n  - say: hi\n    say: ho\n", "s.yaml:3: a turn has say twice"},
		{"nothing to play", "turns:\n  - when: {user: hi}\n", "s.yaml:2: a turn needs say, calls or both"},
		{"no condition", "turns:\n  - when: {}\n    say: hi\n", "s.yaml:2: when has no condition"},
		{"an empty condition", "turns:\n  - when: {user: ''}\n    say: hi\n", "s.yaml:2: user is empty"},
		{"an unknown status", "turns:\n  - when: {tool_result: {status: approved}}\n    say: hi\n", `s.yaml:2: "approved" is no status`},
		{"no statuses", "turns:\n  - when: {tool_result: {status: []}}\n    say: hi\n", "s.yaml:2: status is an empty list"},
		{"a number to say", "turns:\n  - say: 12\n", "s.yaml:2: say must be text"},
		{"a loop that is text", "loop: often\nturns: [{say: hi}]\n", "s.yaml:1: loop must be true or false"},
		{"a call without a name", "turns:\n  - calls:\n      - args: {a: 1}\n", "s.yaml:3: a call needs name"},
		{"arguments as text", "turns:\n  - calls:\n      - {name: f, args: '{}'}\n", "s.yaml:3: args must be a mapping"},
		{"an argument twice", "turns:\n  - calls:\n      - name: f\n        args:\n          a: 1\n          a: 2\n", "s.yaml:6: args have a twice"},
		{"a number as key", "turns:\n  - calls: [{name: f, args: {1: 2}}]\n", "s.yaml:2: a key of args must be text"},
		{"not a number", "turns:\n  - calls: [{name: f, args: {a: .nan}}]\n", "s.yaml:2: .nan is not a number that JSON has"},
		{"an anchor", "turns:\n  - say: &a hi\n", "s.yaml:2: anchors (&a)"},
		{"an alias", "turns:\n  - calls: [{name: f, args: {a: &x [1], b: *x}}]\n", "s.yaml:2: anchors"},
		{"a merge", "turns:\n  - calls: [{name: f, args: {<<: {a: 1}}}]\n", "s.yaml:2: a key of args must be text"},
		{"a tag", "turns:\n  - say: !!binary aGk=\n", "s.yaml:2: tags (!!binary)"},
		{"two documents", "turns: [{say: hi}]\n---\nturns: []\n", "a second document"},
		{"nested too deep", "turns: [{calls: [{name: f, args: {a: " + strings.Repeat("[", 80) + strings.Repeat("]", 80) + "}}]}]\n", "nested deeper"},
		{"too large", strings.Repeat("#", scripted.MaxScriptBytes+1), "larger than 1 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted.Parse("s.yaml", []byte(tc.text))
			var parse *scripted.ParseError
			if !errors.As(err, &parse) || !strings.Contains(parse.Error(), tc.want) {
				t.Errorf("got %v, want a ParseError with %q", err, tc.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "demo.yaml")
	if err := os.WriteFile(path, []byte("turns: [{say: hi}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	script, err := scripted.Load(path)
	if err != nil || script.Name() != "demo.yaml" {
		t.Errorf("got %v, %v", script, err)
	}
	if _, err := scripted.Load(path + ".missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// FuzzParse checks that a script is refused with a ParseError or plays: with calls whose arguments are JSON
// objects, and to the same transcript the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(branching))
	f.Add([]byte("turns: [{calls: [{name: f, args: {a: [1, 0x1F, 1e400, .5, +1, 0o7, 1_0, ~], b: {c: d}}}]}]"))
	f.Add([]byte("loop: true\nturns: [{when: {user: '*a*'}, say: '{{user}} {{result}}'}, {say: b}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("turns: [{say: !!str hi}]\n--- {}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		script, err := scripted.Parse("f.yaml", data)
		if err != nil {
			var parse *scripted.ParseError
			if !errors.As(err, &parse) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		m := scripted.New(script)
		messages := []llm.Message{{Role: llm.RoleUser, Content: "a"}}
		for range 4 {
			reply, err := m.Generate(t.Context(), llm.Request{Messages: messages})
			if err != nil {
				t.Fatal(err)
			}
			messages = append(messages, reply.Message)
			for _, c := range reply.Message.ToolCalls {
				var args map[string]any
				dec := json.NewDecoder(strings.NewReader(c.Args))
				dec.UseNumber()
				if err := dec.Decode(&args); err != nil || args == nil {
					t.Fatalf("arguments %q: %v", c.Args, err)
				}
				messages = append(messages, llm.Message{Role: llm.RoleTool, ProviderID: c.ProviderID, ToolName: c.Name, ToolStatus: "success", Content: "a"})
			}
		}
	})
}
