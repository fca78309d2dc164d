package layout_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// module is the path that all packages of the tree begin with.
const module = "holdpoint"

// level is one row of the table: packages may import only packages of the levels above it.
type level struct {
	name     string
	packages []string // paths inside the module; "x/..." is x and all below it
	// imports are the paths inside the module that may be imported.
	imports []string
	// std is false where the standard library's way to the world is forbidden (see world).
	world bool
	// outside are the paths outside the module and the standard library that may be imported; nil allows any.
	outside []string
	// never may not be imported, although the rest would allow it.
	never []string
}

// world is what pure code may not import: it would make a decision depend on more than its arguments.
var world = []string{"net/http", "os/exec", "database/sql", "os", "net", "syscall", "log", "log/slog", "plugin", "unsafe"}

// drivers are the technologies that only an adapter or the composition root knows.
var drivers = []string{
	"database/sql", "modernc.org/...", "github.com/pressly/...", "github.com/jackc/...", "go.mongodb.org/...", "github.com/openai/...", "github.com/anthropics/...", "github.com/danielgtaylor/...",
	"github.com/modelcontextprotocol/...", "github.com/prometheus/...", "go.opentelemetry.io/...",
	"github.com/spf13/...", "gopkg.in/yaml.v3",
}

// none forbids every import outside the module and the standard library.
var none = []string{}

var (
	pure     = []string{"permission", "interaction", "event", "tool", "llm", "flow", "agent"}
	adapters = []string{"llm/...", "tool/...", "internal/store/...", "internal/auth/...", "internal/config/...", "internal/devserver/...", "internal/secrets/...", "internal/notify/...", "internal/telemetry/...", "internal/seal/...", "internal/signing/...", "internal/redact/..."}
)

// levels is the direction of imports. The most specific row that names a package holds for it.
var levels = []level{
	{
		name: "0 permission: knows nothing of the module, so that anyone can use it alone", packages: []string{"permission"},
		// idna and norm: a host and a path must be compared in the form that a resolver and a disk would use.
		outside: []string{"github.com/gobwas/glob/...", "mvdan.cc/sh/v3/...", "golang.org/x/net/idna", "golang.org/x/text/..."},
	},
	{name: "0 interaction: knows nothing of the module, so that anyone can use it alone", packages: []string{"interaction"}, outside: none},
	{name: "0 event", packages: []string{"event"}, imports: []string{"interaction"}, outside: none},
	{name: "0 tool", packages: []string{"tool"}, imports: []string{"interaction"}, outside: none},
	// A message has the calls of a model, and a model is offered definitions of tools.
	{name: "1 llm", packages: []string{"llm"}, imports: []string{"interaction", "tool"}, outside: none},
	// Conditions are written in the language of expr: it has types, no effects, and needs no other module.
	{name: "1 flow", packages: []string{"flow"}, imports: []string{"permission"}, outside: []string{"github.com/expr-lang/expr/..."}},
	{name: "1 agent", packages: []string{"agent"}, imports: []string{"permission", "interaction", "event", "tool", "flow"}, outside: none},
	{
		name: "2 activities: the SDK's activity side, no driver and no provider", packages: []string{"activities/..."}, imports: pure, world: true,
		never: slices.Concat(drivers, []string{"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/worker", "go.temporal.io/sdk/client", "net/http", "os/exec"}),
	},
	{
		name: "3 workflows: deterministic code, the SDK's workflow side", packages: []string{"workflows/..."},
		imports: slices.Concat(pure, []string{"activities"}),
		never:   slices.Concat(drivers, []string{"go.temporal.io/sdk/activity", "go.temporal.io/sdk/worker", "go.temporal.io/sdk/client"}),
	},
	{
		name: "4 adapters of model providers: they share the wire, and do not know one another", packages: []string{"llm/openai/...", "llm/anthropic/..."},
		imports: slices.Concat(pure, []string{"llm/wire/..."}), world: true,
	},
	{name: "4 adapters: they do not know one another", packages: adapters, imports: pure, world: true},
	{
		name: "5 api: knows workflows' names and messages, never SQL", packages: []string{"api/..."}, imports: slices.Concat(pure, []string{"workflows"}), world: true,
		never: []string{"database/sql", "modernc.org/...", "github.com/pressly/...", "go.temporal.io/sdk/worker"},
	},
	{
		name: "6 app: the composition root", packages: []string{"internal/app/..."}, world: true,
		imports: slices.Concat(pure, adapters, []string{"activities/...", "workflows/...", "api/..."}),
	},
	{
		name: "7 mains: the composition root builds everything for them", packages: []string{"cmd/...", "worker", "starter", "examples/..."}, world: true,
		imports: slices.Concat(pure, []string{"workflows", "api/...", "internal/app/..."}), never: []string{"database/sql"},
	},
	{name: "the tree's own tests", packages: []string{"internal/layout"}, world: true},
}

// matches reports whether a path is meant by a pattern; "x/..." is x and all below it.
func matches(pattern, path string) bool {
	root, tree := strings.CutSuffix(pattern, "/...")
	return path == root || tree && strings.HasPrefix(path, root+"/")
}

func anyMatches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}

// levelOf returns the row of a package: one that names it exactly, else the first whose tree has it.
func levelOf(path string) (level, bool) {
	for _, l := range levels {
		if slices.Contains(l.packages, path) {
			return l, true
		}
	}
	for _, l := range levels {
		if anyMatches(l.packages, path) {
			return l, true
		}
	}
	return level{}, false
}

// forbidden says why a package may not import a path, or "".
func (l level) forbidden(from, path string) string {
	inside, isInside := strings.CutPrefix(path, module+"/")
	std := !isInside && !strings.Contains(strings.SplitN(path, "/", 2)[0], ".")
	switch {
	case anyMatches(l.never, path):
		return "is not for this level"
	case isInside && related(from, inside):
		return ""
	case isInside && !anyMatches(l.imports, inside):
		return "is not above this level"
	case std && !l.world && slices.Contains(world, path):
		return "reaches the world, and this level is pure"
	case !isInside && !std && l.outside != nil && !anyMatches(l.outside, path):
		return "is not among the libraries of this level"
	}
	return ""
}

// related reports whether one package is a part of the other, as tool/builtin/x is of tool/builtin. The pure
// roots llm and tool are no wholes in that sense.
func related(from, to string) bool {
	if slices.Contains(pure, from) || slices.Contains(pure, to) {
		return false
	}
	return strings.HasPrefix(from, to+"/") || strings.HasPrefix(to, from+"/")
}

type goPackage struct {
	ImportPath, Name, Doc string
	Imports               []string
}

// packages lists the module's packages as the go command sees them.
func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Doc,Imports", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr(err))
	}
	var all []goPackage
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func stderr(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

func TestImportsPointUpwards(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		l, ok := levelOf(path)
		if !ok {
			t.Errorf("package %s has no level: put it where it belongs, or give it one in the table", path)
			continue
		}
		for _, imported := range p.Imports {
			if why := l.forbidden(path, imported); why != "" {
				t.Errorf("%s imports %s, which %s (%s)", path, imported, why, l.name)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("package %s has no package comment", p.ImportPath)
		} else if p.Name != "main" && !strings.HasPrefix(p.Doc, "Package "+p.Name+" ") {
			t.Errorf("the comment of package %s begins %q, want %q", p.ImportPath, p.Doc, "Package "+p.Name+" …")
		}
	}
}

// TestTheTableForbids shows that the table bites: each pair is an import that must be refused.
func TestTheTableForbids(t *testing.T) {
	t.Parallel()
	for _, bad := range [][2]string{
		{"permission", "holdpoint/interaction"},
		{"permission", "os"},
		{"interaction", "holdpoint/permission"},
		{"interaction", "github.com/google/uuid"},
		{"llm", "holdpoint/agent"},
		{"tool", "holdpoint/tool/builtin"},
		{"activities", "holdpoint/workflows"},
		{"activities", "database/sql"},
		{"workflows", "modernc.org/sqlite"},
		{"workflows", "net/http"},
		{"llm/openai", "holdpoint/llm/scripted"},
		{"llm/anthropic", "holdpoint/llm/openai"},
		{"llm/wire", "holdpoint/llm/openai"},
		{"internal/store", "holdpoint/activities"},
		{"internal/config", "holdpoint/internal/app"},
		{"api", "holdpoint/internal/store"},
		{"api", "database/sql"},
		{"api", "holdpoint/activities"},
		{"internal/app", "holdpoint/cmd/holdpoint"},
		{"cmd/holdpoint", "holdpoint/internal/store"},
	} {
		l, ok := levelOf(bad[0])
		if !ok || l.forbidden(bad[0], bad[1]) == "" {
			t.Errorf("%s may import %s", bad[0], bad[1])
		}
	}
}
