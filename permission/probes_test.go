package permission

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// probe is one command line that was once tried against the engine, with the
// effects that are right; "deny ask" where it only must not be allowed.
type probe struct {
	Allow, Deny, Ask []string
	Tool             string
	Command, Args    string
	Links            map[string]string
	Want, Why        string
}

func readLines(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		out = append(out, lines.Text())
	}
	return out
}

func TestProbes(t *testing.T) {
	t.Parallel()
	lines := readLines(t, "testdata/probes.jsonl")
	if len(lines) < 1000 {
		t.Fatalf("only %d probes were read", len(lines))
	}
	for _, line := range lines {
		p := probe{Tool: "bash"}
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		set, problems, err := Compile(rulesOf(p.Allow, p.Deny, p.Ask))
		if err != nil || problems != nil {
			t.Fatal(line, err, problems)
		}
		tool := BuiltinTool(p.Tool)
		c := Call{Tool: tool, Args: []byte(p.Args), Workspace: "/work/repo", Home: "/home/dev", Resolve: links(p.Links), UserID: "u", SessionID: "s"}
		if p.Args == "" {
			c.Args = []byte(arg(tool.Field, p.Command))
		}
		if d := set.Decide(c); !strings.Contains(p.Want, d.Effect.String()) {
			t.Errorf("allow %v deny %v ask %v\nwant %s, because %s; got %s", p.Allow, p.Deny, p.Ask, p.Want, p.Why, Explain(c, d))
		}
	}
}

// Daily commands are covered by a rule for their program: what protects against
// options that execute or write must not ask about the others.
func TestDailyCommandsAreCoveredByARuleForTheirProgram(t *testing.T) {
	t.Parallel()
	for _, line := range readLines(t, "testdata/daily.txt") {
		program, _, _ := strings.Cut(line, " ")
		set, _, err := Compile(rulesOf(a("bash("+program+":*)"), nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		if c := bashCall(line); set.Decide(c).Effect != Allow {
			t.Error(Explain(c, set.Decide(c)))
		}
	}
}
