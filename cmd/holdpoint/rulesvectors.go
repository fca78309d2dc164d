package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdpoint/interaction"
	"holdpoint/permission"
)

const rulesTestLong = `Decides the cases of files and says which come out differently, each with the explanation. It needs no
bridge. The last line is "N passed, M failed"; the exit code is 1 if any failed.

A case is one line of JSON:

  {"id": "c1", "rules": {"allow": ["bash(npm run test:*)"], "deny": [], "ask": []},
   "tool": "bash", "args": {"command": "npm run test:unit"}, "expect": "allow", "why": "one line"}

and, where it matters, "cwd" (the workspace, /work/repo unless said), "home" (/home/dev), "args_raw" (the
arguments' exact text) and "fs": {"symlinks": {"link": "target"}}. For people there are "category", "source" and
"depends_on". Any other key is refused. A file - is the standard input.`

// vector is one case.
type vector struct {
	ID      string          `json:"id"`
	Rules   vectorRules     `json:"rules"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	ArgsRaw string          `json:"args_raw"`
	Cwd     string          `json:"cwd"`
	Home    string          `json:"home"`
	FS      struct {
		Symlinks map[string]string `json:"symlinks"`
	} `json:"fs"`
	Expect *permission.Effect `json:"expect"`
	Why    string             `json:"why"`

	// For people.
	Category  string          `json:"category"`
	Source    string          `json:"source"`
	DependsOn json.RawMessage `json:"depends_on"`
}

// vectorRules are a case's rules. A misspelt "deny" would make a case that tests nothing, and is refused.
type vectorRules struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
	Ask   []string `json:"ask"`
}

// Bounds of a file of cases.
const (
	maxVectorFile = 64 << 20
	maxVectorLine = 4 << 20
)

func rulesTestCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "test FILE…", Short: "Decide the cases of files and say which come out differently", Long: rulesTestLong, Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var n tally
			for _, name := range args {
				if err := c.testVectors(name, &n); err != nil {
					return err
				}
			}
			if n.passed+n.failed == 0 {
				return errors.New("there is no case in it")
			}
			fmt.Fprintf(c.out, "%d passed, %d failed\n", n.passed, n.failed)
			if n.failed > 0 {
				return &exit{code: exitError}
			}
			return nil
		},
	}
}

type tally struct{ passed, failed int }

func (c *cli) testVectors(name string, n *tally) error {
	in := io.NopCloser(c.in)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		in = f
	}
	defer in.Close()
	lines := bufio.NewScanner(io.LimitReader(in, maxVectorFile))
	lines.Buffer(nil, maxVectorLine)
	for at := 1; lines.Scan(); at++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if report := failure(line); report != "" {
			n.failed++
			fmt.Fprintf(c.out, "%s %s:%d %s\n", c.style.red("FAILED"), interaction.Visible(name), at, interaction.VisibleLines(report))
			continue
		}
		n.passed++
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s can't be read: %w", name, err)
	}
	return nil
}

// failure is "" when a case comes out as it should, else what came out instead.
func failure(line []byte) string {
	v, err := readVector(line)
	if err != nil {
		return "can't be read: " + err.Error()
	}
	set, problems, err := permission.Compile(v.rules())
	call := v.call()
	d := set.Decide(call)
	if d.Effect == *v.Expect {
		return ""
	}
	text := fmt.Sprintf("%s: is %s, should be %s: %s\n", v.ID, d.Effect, *v.Expect, v.Why)
	for _, p := range problems {
		text += fmt.Sprintf("  the rule %s does not count: %v\n", p.Rule.Pattern, p.Err)
	}
	if err != nil {
		text += fmt.Sprintf("  rules that can't be read: %v\n", err)
	}
	return strings.TrimSuffix(text+"  "+strings.ReplaceAll(permission.Explain(call, d), "\n", "\n  "), "\n  ")
}

func readVector(line []byte) (v vector, err error) {
	if err := interaction.Strict(line, &v); err != nil {
		return v, err
	}
	switch {
	case v.Tool == "":
		return v, errors.New(`it has no "tool"`)
	case v.Expect == nil:
		return v, errors.New(`it has no "expect": allow, ask or deny`)
	case len(v.Args) == 0 && v.ArgsRaw == "":
		return v, errors.New(`it has no "args"`)
	}
	return v, nil
}

// rules are the case's, as a policy would have them.
func (v vector) rules() (out []permission.Rule) {
	add := func(effect permission.Effect, patterns []string) {
		for _, p := range patterns {
			out = append(out, permission.Rule{Effect: effect, Pattern: p, Source: permission.Source{Layer: permission.LayerPolicy}})
		}
	}
	add(permission.Allow, v.Rules.Allow)
	add(permission.Deny, v.Rules.Deny)
	add(permission.Ask, v.Rules.Ask)
	return out
}

func (v vector) call() permission.Call {
	c := permission.Call{Tool: permission.BuiltinTool(v.Tool), Args: v.Args, Workspace: v.Cwd, Home: v.Home,
		Resolve: v.resolve, Now: time.Unix(0, 0)}
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

// maxLinks bounds how many links are followed, as a file system does.
const maxLinks = 40

// resolve follows the case's links in every component of a path.
func (v vector) resolve(p string) (string, error) {
	for range maxLinks {
		prefix, linked := "", false
		for segment := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
			prefix += "/" + segment
			to := ""
			if to, linked = v.FS.Symlinks[prefix]; linked {
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
