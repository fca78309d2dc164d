package layout_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the directory of the module.
func root(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("go list -m: %v\n%s", err, stderr(err))
	}
	return strings.TrimSpace(string(out))
}

// file is one file of the tree, by its path from the root.
type file struct {
	name string
	text []byte
}

// files returns what is under version control, or, in a copy without it, all that a build leaves alone.
func files(t *testing.T) []file {
	t.Helper()
	top := root(t)
	names := tracked(top)
	if names == nil {
		names = walk(t, top)
	}
	var out []file
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(top, name))
		if os.IsNotExist(err) {
			continue // removed, but not committed so
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, file{name: filepath.ToSlash(name), text: text})
	}
	if len(out) < 20 {
		t.Fatalf("only %d files were found under %s", len(out), top)
	}
	return out
}

func tracked(top string) []string {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = top
	out, err := cmd.Output()
	if err != nil || len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func walk(t *testing.T, top string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(top, path)
			if err != nil {
				return err
			}
			names = append(names, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// maxLines is how long a file may be. A longer one has more than one subject.
const maxLines = 400

// longFiles may be longer, each kind for its reason.
var longFiles = []struct{ pattern, reason string }{
	{`(^|/)go\.sum$`, "written by the go command"},
	{`^tools/[a-z]+/go\.mod$`, "written by the go command, for programs that are not ours"},
	{`^tools/[a-z]+/package-lock\.json$`, "written by npm, for programs that are not ours"},
	{`^LICENSE$`, "the text is given"},
	{`^docs/agents\.md$`, "a reference, most of it written from the table of keys"},
	{`(^|/)testdata/`, "data, often recorded"},
	{`\.(svg|png|ico|woff2)$`, "not text"},
	{`^api/web/.*/vendor/`, "others' files, kept as they are"},
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	var long []*regexp.Regexp
	for _, l := range longFiles {
		long = append(long, regexp.MustCompile(l.pattern))
	}
	for _, f := range files(t) {
		lines := bytes.Count(f.text, []byte("\n"))
		if lines > maxLines && !matchesAny(long, f.name) {
			t.Errorf("%s has %d lines, more than %d: split it by subject", f.name, lines, maxLines)
		}
	}
}

func matchesAny(all []*regexp.Regexp, name string) bool {
	for _, re := range all {
		if re.MatchString(name) {
			return true
		}
	}
	return false
}

// banned are texts that no file may have. The patterns are put together from pieces, so that this file does
// not match itself.
var banned = []struct {
	in      *regexp.Regexp
	pattern *regexp.Regexp
	why     string
}{
	{
		regexp.MustCompile(``), regexp.MustCompile(`/wo` + `rk/(main|shared|\.[a-z])|/fa` + `rm/`),
		"a path of one machine means nothing on another",
	},
	{
		regexp.MustCompile(`\.(go|sql|ya?ml|sh|html|js|css)$|^Makefile$|^\.ci/`), regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`),
		"work that is not done belongs in an issue, not in the code",
	},
	{
		regexp.MustCompile(`_test\.go$`), regexp.MustCompile(`\btime\.Sl` + `eep\(`),
		"a sleep is too short on a slow machine and too long on a fast one: wait for a condition",
	},
	{
		regexp.MustCompile(`_test\.go$`), regexp.MustCompile(`\b(t|b|f|tb)\.Sk` + `ip(f|Now)?\(`),
		"a test that does not run shows nothing: provide what it needs",
	},
}

func TestFilesContainNothingBanned(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if bytes.IndexByte(f.text[:min(len(f.text), 8000)], 0) >= 0 {
			continue // not text
		}
		for _, b := range banned {
			if !b.in.MatchString(f.name) {
				continue
			}
			if at := b.pattern.FindIndex(f.text); at != nil {
				line := 1 + bytes.Count(f.text[:at[0]], []byte("\n"))
				t.Errorf("%s:%d has %q: %s", f.name, line, f.text[at[0]:at[1]], b.why)
			}
		}
	}
}
