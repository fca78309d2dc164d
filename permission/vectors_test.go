package permission

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path"
	"strings"
	"testing"
	"time"
)

// vector is one worked case: rules, a call, and the right decision.
type vector struct {
	ID    string `json:"id"`
	Rules struct {
		Allow, Deny, Ask []string
	} `json:"rules"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	ArgsRaw string          `json:"args_raw"`
	Cwd     string          `json:"cwd"`
	Home    string          `json:"home"`
	FS      struct {
		Symlinks map[string]string `json:"symlinks"`
	} `json:"fs"`
	Expect Effect `json:"expect"`
	Why    string `json:"why"`
}

func loadVectors(t testing.TB, name string) []vector {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []vector
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// rulesOf builds policy rules from plain patterns.
func rulesOf(allow, deny, ask []string) []Rule {
	var out []Rule
	add := func(effect Effect, patterns []string) {
		for _, p := range patterns {
			out = append(out, Rule{Effect: effect, Pattern: p, Source: Source{Layer: LayerPolicy}})
		}
	}
	add(Allow, allow)
	add(Deny, deny)
	add(Ask, ask)
	return out
}

// links resolves symlinks the way a file system would, in every component.
func links(table map[string]string) func(string) (string, error) {
	return func(p string) (string, error) {
		for range 40 {
			prefix, linked := "", false
			for segment := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
				prefix += "/" + segment
				to := ""
				if to, linked = table[prefix]; linked {
					p = path.Clean(to + strings.TrimPrefix(p, prefix))
					break
				}
			}
			if !linked {
				return p, nil
			}
		}
		return "", errors.New("too many links")
	}
}

func (v vector) call() Call {
	c := Call{Tool: BuiltinTool(v.Tool), Args: v.Args, Workspace: v.Cwd, Home: v.Home,
		Resolve: links(v.FS.Symlinks), Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if v.ArgsRaw != "" {
		c.Args = []byte(v.ArgsRaw)
	}
	if c.Workspace == "" {
		c.Workspace = "/work/repo"
	}
	if c.Home == "" {
		c.Home = "/home/dev"
	}
	return c
}

// The specification's cases, and more of the same kinds.
func TestVectors(t *testing.T) {
	t.Parallel()
	for name, least := range map[string]int{"vectors.jsonl": 285, "more.jsonl": 2000} {
		all := loadVectors(t, name)
		if len(all) < least {
			t.Errorf("%s has only %d cases", name, len(all))
		}
		for _, v := range all {
			set, _, _ := Compile(rulesOf(v.Rules.Allow, v.Rules.Deny, v.Rules.Ask))
			d := set.Decide(v.call())
			if d.Effect != v.Expect {
				t.Errorf("%s: %s %s%s\nrules %v\ngot %s want %s: %s\n%s", v.ID, v.Tool, v.Args, v.ArgsRaw, v.Rules, d.Effect, v.Expect, v.Why, Explain(Call{}, d))
			}
		}
	}
}
