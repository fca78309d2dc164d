package permission

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// realWriters change files; the words are what they need before the file.
var realWriters = map[string][]string{
	"tee": nil, "cp": {"in"}, "install": {"in"}, "ln": {"-f", "in"}, "mv": {"-f", "moved"}, "sort": {"in"}, "touch": nil, "truncate": {"-s0"},
	"sed": {"-n", "p"}, "curl": {"-s", "file:///dev/null"}, "rm": {"-f"}, "chmod": {"400"}, "patch": nil, "tar": {"cf"}, "zip": {"-q"}, "uniq": {"in"},
	"shuf": {"in"}, "xxd": {"in"}, "split": {"in"}, "gzip": {"-f"}, "unlink": nil, "openssl": {"rand"}, "rsync": {"in"},
}

// Whatever option stands before it, a file that no command may write is not
// changed by one that is allowed.
func TestNoOptionOfAWriterHidesTheFile(t *testing.T) {
	t.Parallel()
	set, _, err := Compile(rulesOf(a("bash"), a("file_write(./guarded)"), nil))
	if err != nil {
		t.Fatal(err)
	}
	dir := realDir(t)
	for name, before := range realWriters {
		path, err := exec.LookPath(name)
		if err != nil {
			continue // compared where it is installed
		}
		t.Run(name, func(t *testing.T) {
			guarded := filepath.Join(dir, "guarded")
			for _, words := range writings(before) {
				call := bashCall(strings.Join(append([]string{name}, quoteAll(words)...), " "))
				call.Workspace = dir
				if d := set.Decide(call); d.Effect != Allow {
					continue
				}
				guardedState(t, guarded)
				was := guardedState(t, guarded)
				runQuietly(t, dir, path, words)
				if guardedState(t, guarded) != was {
					t.Errorf("%s %q is allowed and changes the file", name, words)
				}
			}
		})
	}
}

func writings(before []string) [][]string {
	var out [][]string
	for _, r := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0" {
		c := "-" + string(r)
		for _, words := range [][]string{{c, "guarded"}, {c + "guarded"}, {c, "1", "guarded"}} {
			out = append(out, slices.Concat(before, words))
		}
		out = append(out, slices.Concat([]string{c, "guarded"}, before))
	}
	for _, words := range [][]string{{"guarded"}, {"-fprint", "guarded"}, {"-out", "guarded", "4"}, {"--output=guarded"}, {"--outp", "guarded"}} {
		out = append(out, slices.Concat(before, words))
	}
	return out
}

// guardedState is what can be told about the file, which is made anew when it
// is gone.
func guardedState(t *testing.T, file string) string {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		return "made anew " + time.Now().String()
	}
	text, err := os.ReadFile(file)
	return fmt.Sprint(string(text), err, info.Mode(), info.ModTime())
}

func runQuietly(t *testing.T, dir, path string, words []string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "moved"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, words...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C"}
	_ = cmd.Run() // most of these command lines are mistakes
}
