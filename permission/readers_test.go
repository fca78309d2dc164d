package permission

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// realReaders print files; the words are what they need before the files.
var realReaders = map[string][]string{
	"cat": nil, "head": nil, "tail": nil, "grep": {"S"}, "sed": {"p"}, "sort": nil, "cut": {"-c1-"}, "od": {"-c"}, "base64": {"-w0"}, "diff": {"in"},
	"paste": nil, "awk": {"1"}, "jq": {"-R", "."}, "xxd": {"-p"}, "date": nil, "file": nil, "shuf": nil, "tar": {"cO"}, "zip": {"-q0", "-"},
	"gzip": {"-c"}, "openssl": {"enc", "-base64"}, "cmp": {"in"}, "more": nil, "wc": nil,
}

const secretText = "TOPSECRET"

// Whatever option stands before it, a file that no command may read is not
// printed by one that is allowed.
func TestNoOptionOfAReaderHidesTheFile(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(secretText+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set, _, err := Compile(rulesOf(a("bash"), a("file_read(./secret)"), nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, before := range realReaders {
		path, err := exec.LookPath(name)
		if err != nil {
			continue // compared where it is installed
		}
		t.Run(name, func(t *testing.T) {
			for _, words := range readings(before) {
				call := bashCall(strings.Join(append([]string{name}, quoteAll(words)...), " "))
				call.Workspace = dir
				if d := set.Decide(call); d.Effect == Allow && prints(t, dir, path, words) {
					t.Errorf("%s %q is allowed and prints the file", name, words)
				}
			}
		})
	}
}

func readings(before []string) [][]string {
	out := [][]string{slices.Concat(before, []string{"secret"})}
	for _, r := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0" {
		c := "-" + string(r)
		for _, words := range [][]string{{c, "secret"}, {c + "secret"}, {c, "1", "secret"}, {c, "secret", "in"}} {
			out = append(out, slices.Concat(before, words))
		}
	}
	return out
}

func prints(t *testing.T, dir, path string, words []string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, words...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C"}
	out, _ := cmd.CombinedOutput() // most of these command lines are mistakes
	return strings.Contains(string(out), secretText)
}
