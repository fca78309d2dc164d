package permission

import (
	"strings"
	"testing"
)

// TestCases tries command lines in groups, each under rules of its own: the file says how they are written.
func TestCases(t *testing.T) {
	t.Parallel()
	var want string
	var set *Set
	tried := 0
	for _, line := range readLines(t, "testdata/cases.txt") {
		if head, ok := strings.CutPrefix(line, "== "); ok {
			want, set = casesHead(t, head)
			continue
		}
		if line == "" || set == nil {
			continue
		}
		tried++
		tool := BuiltinTool("bash")
		c := Call{Tool: tool, Args: []byte(arg(tool.Field, strings.ReplaceAll(line, `\n`, "\n"))), Workspace: "/work/repo", Home: "/home/dev", Resolve: links(nil)}
		if d := set.Decide(c); !strings.Contains(want, d.Effect.String()) {
			t.Errorf("want %s, got %s", want, Explain(c, d))
		}
	}
	if tried < 800 {
		t.Errorf("only %d cases were tried", tried)
	}
}

// casesHead reads what must come out of a group, and its rules.
func casesHead(t *testing.T, head string) (want string, set *Set) {
	t.Helper()
	fields := strings.Split(head, "|")
	var patterns [3][]string
	for i, f := range fields[1:] {
		if f = strings.TrimSpace(f); f != "" {
			patterns[i] = strings.Split(f, ", ")
		}
	}
	set, problems, err := Compile(rulesOf(patterns[0], patterns[1], patterns[2]))
	if err != nil || problems != nil {
		t.Fatal(head, err, problems)
	}
	return strings.TrimSpace(fields[0]), set
}
