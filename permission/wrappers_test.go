package permission

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// realWrappers are what stands between a wrapper's options and the command it
// starts.
var realWrappers = map[string][]string{
	"timeout": {"5"}, "nice": nil, "nohup": nil, "stdbuf": nil, "env": nil, "setsid": nil, "flock": {"lock"}, "xargs": nil, "ionice": nil,
	"taskset": {"1"}, "chrt": {"0"}, "setpriv": nil, "unshare": nil, "bash": nil, "strace": nil, "find": {".", "-exec"}, "prlimit": nil, "setarch": {"x86_64"},
}

// Whatever option stands before it, a denied command that a wrapper really
// starts is not allowed.
func TestNoOptionOfAWrapperHidesTheCommand(t *testing.T) {
	t.Parallel()
	set, _, err := Compile(rulesOf(a("bash"), a("bash(touch:*)"), nil))
	if err != nil {
		t.Fatal(err)
	}
	dir := realDir(t)
	for name, between := range realWrappers {
		path, err := exec.LookPath(name)
		if err != nil {
			continue // compared where it is installed
		}
		t.Run(name, func(t *testing.T) {
			inner := []string{"touch", "MARK"}
			switch name {
			case "bash":
				inner = []string{"touch MARK"}
			case "find":
				inner = append(inner, ";")
			}
			for _, option := range wrapperOptions(name) {
				words := slices.Concat(option, between, inner)
				if d := set.Decide(bashCall(strings.Join(append([]string{name}, quoteAll(words)...), " "))); d.Effect != Allow {
					continue
				}
				if runsAndWrites(t, dir, path, words) {
					t.Errorf("%s %q is allowed and starts touch", name, words)
				}
			}
		})
	}
}

// wrapperOptions are every letter, alone and with a value, and the long names
// of the table.
func wrapperOptions(name string) [][]string {
	var out [][]string
	for _, r := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" {
		c := string(r)
		out = append(out, []string{"-" + c}, []string{"-" + c, "1"}, []string{"-" + c + "1"})
		if shells[name] {
			out = append(out, []string{"-c" + c}, []string{"-" + c + "c", "errexit"}, []string{"+" + c + "c", "errexit"})
		}
	}
	if w, ok := wrappers[name]; ok {
		for _, long := range w.options.names {
			out = append(out, []string{"--" + long}, []string{"--" + long, "1"}, []string{"--" + long + "=1"})
		}
	}
	return out
}
