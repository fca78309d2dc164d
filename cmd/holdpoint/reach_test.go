package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// beside are the commands that do their work without a bridge: on a configuration, its database and its Temporal, or on
// nothing. Every other command must work at a bridge far away, with a token.
var beside = map[string]string{
	"dev": "runs the bridge", "api": "runs the bridge", "worker": "runs beside Temporal", "codec": "serves the Temporal UI",
	"config check": "reads files", "config show": "reads files", "config schema": "prints", "version": "prints", "replay": "reads histories",
	"keys usage": "works on the database", "keys reseal": "works on the database",
	"keys create": "writes a file", "keys rotate": "writes a file", "keys show": "reads a file",
	"token hash": "prints",
	"rules test": "reads files", "rules import": "reads files",
	"doctor": "looks at the database and at Temporal", "erase": "works on the database",
}

// TestEveryCommandReachesABridge holds that each command that is not named above is run against a whole Holdpoint over the
// network, and with nothing but an address and a token, by the scripts of testdata/real.
func TestEveryCommandReachesABridge(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join("testdata", "real", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	var all strings.Builder
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	root, _ := newRoot(&cli{out: io.Discard, err: io.Discard, getenv: func(string) (string, bool) { return "", false }})
	known := map[string]bool{}
	for _, cmd := range leaves(root) {
		name := strings.TrimPrefix(cmd.CommandPath(), "holdpoint ")
		known[name] = true
		remote := cmd.Flags().Lookup("addr") != nil && cmd.Flags().Lookup("token") != nil
		switch {
		case beside[name] != "":
		case !remote:
			t.Errorf("%s takes no --addr and --token: give it the flags of a remote, or say above why it needs none", name)
		case !regexp.MustCompile(`(?m)^[^#\n]*holdpoint ` + regexp.QuoteMeta(name) + `\b`).MatchString(all.String()):
			t.Errorf("no script of testdata/real runs %s", name)
		}
	}
	for name := range beside {
		if !known[name] {
			t.Errorf("there is no command %s", name)
		}
	}
}

func leaves(cmd *cobra.Command) (out []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.HasSubCommands() {
			out = append(out, leaves(c)...)
		} else if c.IsAvailableCommand() && c.Name() != "help" && c.Parent().Name() != "completion" {
			out = append(out, c)
		}
	}
	return out
}
