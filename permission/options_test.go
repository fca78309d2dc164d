package permission

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// spellings are the ways to write one option, alone and behind others.
func spellings(o *options, spec optionSpec, value string) [][]string {
	var out [][]string
	add := func(words ...string) { out = append(out, words) }
	long := len(spec.name) > 1
	dash := "--"
	if o.single {
		dash = "-"
	}
	switch {
	case long && spec.takes == takesNone:
		add(dash + spec.name)
	case long && spec.takes == takesGlued:
		add(dash+spec.name+"="+value, "x")
		add(dash+spec.name, "x")
	case long && spec.takes == takesList:
		add(dash+spec.name, value, ";")
	case long:
		add(dash+spec.name, value, value)
		if !o.single || spec.takes == takesOne && o.strict && o.inside {
			add(dash + spec.name + "=" + value)
		}
	case o.single:
		add("-"+spec.name, value)
	case spec.takes == takesNone || spec.takes == takesGlued:
		add("-" + spec.name)
		add("-" + spec.name + value)
	default:
		add("-"+spec.name, value)
		add("-" + spec.name + value)
	}
	for n := 1; long && !o.single && n < len(spec.name); n++ {
		if short := spec.name[:n]; o.means(short, spec) {
			add("--"+short, value)
			add("--" + short + "=" + value)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(o.letters)) {
		if other := o.letters[r]; !long && other.takes == takesNone && other.use == useNothing {
			add("-"+string(r)+spec.name, value)
			add("-" + string(r) + string(r) + spec.name + value)
		}
	}
	return out
}

// means reports whether a beginning of a name can only be this option.
func (o *options) means(short string, spec optionSpec) bool {
	n := 0
	for _, name := range o.names {
		if strings.HasPrefix(name, short) {
			n++
		}
	}
	_, exact := o.long[short]
	return n == 1 && !exact
}

func everyTable() map[string]*options {
	out := maps.Clone(programs)
	for sub, o := range gitTables {
		out["git "+sub] = o
	}
	out["go test"], out["go build"] = goTest, goOther
	return out
}

func TestNoSpellingOfAnOptionThatRunsOrWritesIsCovered(t *testing.T) {
	t.Parallel()
	for name, o := range everyTable() {
		program, _, _ := strings.Cut(name, " ")
		set, _, err := Compile(rulesOf(a("bash("+program+":*)"), nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range slices.Concat(slices.Collect(maps.Values(o.long)), slices.Collect(maps.Values(o.letters))) {
			if spec.use < useSends {
				continue
			}
			for _, words := range spellings(o, spec, "/etc/x") {
				for _, before := range [][]string{nil, {"a"}} {
					if o.ordered && before != nil {
						continue
					}
					line := name + " " + strings.Join(slices.Concat(before, quoteAll(words)), " ")
					call := bashCall(line)
					if d := set.Decide(call); d.Effect == Allow {
						t.Errorf("%s is allowed by bash(%s:*)", line, program)
					}
				}
			}
		}
	}
}

func quoteAll(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + w + "'"
	}
	return out
}

// realWrites are programs with an option that writes the file MARK, put behind
// every other option that the tables call harmless.
var realWrites = []struct {
	program string
	table   string   // in everyTable
	before  []string // words before the options
	hazard  []string
	after   []string
	short   bool // only the letters, where each start takes long
}{
	{"sort", "sort", nil, []string{"-oMARK"}, []string{"in"}, false},
	{"sort", "sort", nil, []string{"--outp", "MARK"}, []string{"in"}, false},
	{"tar", "tar", nil, []string{"--index-file=MARK", "-cvf", "a.tar"}, []string{"in"}, false},
	{"tar", "tar", []string{"-xf", "given.tar"}, []string{"--to-command=touch MARK"}, nil, false},
	{"git", "git diff", []string{"diff"}, []string{"--output=MARK"}, []string{"--no-index", "in", "in2"}, false},
	{"git", "git log", []string{"log", "-1"}, []string{"--output=MARK"}, nil, false},
	{"git", "git grep", []string{"grep"}, []string{"-Otouch MARK;:"}, []string{"a"}, false},
	{"git", "git archive", []string{"archive"}, []string{"-oMARK"}, []string{"HEAD"}, false},
	{"git", "git format-patch", []string{"format-patch", "-1", "--root"}, []string{"-oMARK"}, nil, false},
	{"git", "git fetch", []string{"fetch"}, []string{"--upload-pack=touch MARK;:"}, []string{"."}, false},
	{"git", "git rebase", []string{"rebase"}, []string{"-xtouch MARK"}, []string{"--root"}, false},
	{"git", "git clone", []string{"clone"}, []string{"-utouch MARK;:"}, []string{".", "out"}, false},
	{"find", "find", []string{"."}, []string{"-fprint", "MARK"}, nil, false},
	{"sed", "sed", nil, []string{"-n", "--in-p", "w MARK"}, []string{"in"}, false},
	{"wget", "wget", nil, []string{"-oMARK"}, []string{"-T1", "-t1", "http://127.0.0.1:1/"}, true},
	{"zip", "zip", nil, []string{"-T", "-TTtouch MARK"}, []string{"a.zip", "in"}, false},
	{"split", "split", nil, []string{"--filter=touch MARK"}, []string{"in"}, false},
	{"shuf", "shuf", nil, []string{"-oMARK"}, []string{"in"}, false},
	{"curl", "curl", []string{"-sm1"}, []string{"-oMARK"}, []string{"file:///dev/null"}, true},
	{"make", "make", nil, []string{"--eval=x:;touch MARK"}, []string{"x"}, false},
	{"perl", "perl", nil, []string{"-e", "open(F,'>MARK')"}, []string{"in"}, false},
	{"zstd", "zstd", nil, []string{"-o", "MARK"}, []string{"in"}, false},
	{"patch", "patch", nil, []string{"-oMARK"}, []string{"in", "in.patch"}, false},
}

// What really writes a file, whatever stands before the option that does, is
// not covered: an option that the tables think takes a value could hide it.
func TestOptionsTakeTheValuesThatTheTablesSay(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	for _, c := range realWrites {
		path, err := exec.LookPath(c.program)
		if err != nil {
			continue // compared where it is installed
		}
		t.Run(c.program+" "+strings.Join(c.hazard, " "), func(t *testing.T) {
			set, _, err := Compile(rulesOf(a("bash("+c.program+":*)"), nil, nil))
			if err != nil {
				t.Fatal(err)
			}
			if !runsAndWrites(t, dir, path, slices.Concat(c.before, c.hazard, c.after)) {
				return // another version, which reads this differently
			}
			for _, option := range harmless(everyTable()[c.table], c.short) {
				words := slices.Concat(c.before, []string{option}, c.hazard, c.after)
				if d := set.Decide(bashCall(strings.Join(append([]string{c.program}, quoteAll(words)...), " "))); d.Effect != Allow {
					continue
				}
				if runsAndWrites(t, dir, path, words) {
					t.Errorf("%s %q is allowed and writes", c.program, words)
				}
			}
		})
	}
}

func harmless(o *options, short bool) []string {
	var out []string
	for name, spec := range o.long {
		dash := "--"
		if o.single {
			dash = "-"
		}
		if spec.use < useSends && !short {
			out = append(out, dash+name)
		}
	}
	for r, spec := range o.letters {
		if spec.use < useSends {
			out = append(out, "-"+string(r))
		}
	}
	slices.Sort(out)
	return out
}

// realDir is a directory with something to work on, under version control.
func realDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"in": "b\na\n", "in2": "c\n", "in.patch": "--- in\n+++ in\n@@ -1,2 +1,1 @@\n b\n-a\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range [][]string{{"tar", "-cf", "given.tar", "in"}, {"git", "init", "-q"}, {"git", "add", "in"},
		{"git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x"}} {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", words, err, out)
		}
	}
	return dir
}

func runsAndWrites(t *testing.T, dir, path string, words []string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, words...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	_ = cmd.Run() // most of these command lines are mistakes
	mark := filepath.Join(dir, "MARK")
	_, err := os.Stat(mark)
	if err == nil && os.RemoveAll(mark) != nil {
		t.Fatal("the mark can't be removed")
	}
	return err == nil
}
