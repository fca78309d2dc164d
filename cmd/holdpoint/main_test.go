package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// testNow is when the scripts' commands run.
var testNow = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"holdpoint": main,
		// the same at a fixed time, for goldens
		"holdpoint-then": func() {
			c := processCLI()
			c.name = "holdpoint"
			c.now = func() time.Time { return testNow }
			os.Exit(process(c))
		},
	})
}

// Each script talks to a bridge of its own, which is played from the files below bridge/.
func TestScripts(t *testing.T) {
	t.Parallel()
	histories, err := filepath.Abs(filepath.Join("..", "..", "workflows", "testdata", "histories"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: os.Getenv("UPDATE_GOLDENS") != "",
		Cmds:          map[string]func(ts *testscript.TestScript, neg bool, args []string){"code": wantCode, "fill": fill},
		Setup: func(env *testscript.Env) error {
			b := newFakeBridge(t, env.WorkDir)
			env.Setenv("HOLDPOINT_ADDR", b.URL)
			env.Setenv("HOLDPOINT_TOKEN", fakeToken)
			env.Setenv("HISTORIES", histories)
			return nil
		},
	})
}

// fill copies a file with the environment's values for $NAME: fill FROM TO.
func fill(ts *testscript.TestScript, _ bool, args []string) {
	to := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(to), 0o755))
	ts.Check(os.WriteFile(to, []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o644))
}

// wantCode runs a command and checks its exit code: code N command args…
func wantCode(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		got = exited.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s (%v)", got, args[0], err)
	}
}
