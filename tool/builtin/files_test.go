package builtin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdpoint/tool"
)

// attempts are calls of every file tool on the path.
func attempts(path string) map[string]args {
	return map[string]args{
		NameFileRead:  {"path": path},
		NameFileWrite: {"path": path, "content": "written"},
		NameFileEdit:  {"path": path, "old": "secret", "new": "written"},
	}
}

func TestFilesStayInTheWorkspace(t *testing.T) {
	t.Parallel()
	outside := realTempDir(t)
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, path string }{
		{"absolute", outside + "/secret.txt"},
		{"dots", "DOTS/secret.txt"},
		{"dots in the middle", "sub/../../x"},
		{"home", "~/secret.txt"},
		{"a link to a file", "link.txt"},
		{"a link to a directory", "dir/secret.txt"},
		{"a link by way of a link", "twice/secret.txt"},
		{"a relative link", "up/secret.txt"},
		{"a new file behind a link", "dir/new.txt"},
		{"new directories behind a link", "dir/a/b/new.txt"},
		{"a neighbour with the same beginning", "../neighbour"},
		{"a dangling link", "dangling"},
	}
	for _, tt := range tests {
		for name := range attempts("") {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				b := setup(t)
				b.cfg.Home = outside
				dots, err := filepath.Rel(b.workspace, outside)
				if err != nil {
					t.Fatal(err)
				}
				b.file("sub/x", "secret")
				for link, target := range map[string]string{
					"link.txt": outside + "/secret.txt", "dir": outside, "twice": "dir",
					"up": dots, "dangling": outside + "/new.txt",
				} {
					if err := os.Symlink(target, b.path(link)); err != nil {
						t.Fatal(err)
					}
				}
				got := b.run(name, attempts(strings.Replace(tt.path, "DOTS", dots, 1))[name])
				if got.Status != tool.StatusError || strings.Contains(got.Content, "secret\n") {
					t.Errorf("got %+v", got)
				}
				entries, _ := os.ReadDir(outside)
				text, _ := os.ReadFile(filepath.Join(outside, "secret.txt"))
				if len(entries) != 1 || string(text) != "secret" {
					t.Errorf("outside has %v and %q", entries, text)
				}
			})
		}
	}
}

func TestFilesOutsideWhereARuleAllowsIt(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"absolute", "home", "dots", "link", "linked directory"} {
		t.Run(way, func(t *testing.T) {
			b := setup(t)
			b.outside = true
			outside := realTempDir(t)
			b.cfg.Home = outside
			if err := os.Symlink(outside+"/f", b.path("link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, b.path("dir")); err != nil {
				t.Fatal(err)
			}
			dots, err := filepath.Rel(b.workspace, outside)
			if err != nil {
				t.Fatal(err)
			}
			path := map[string]string{
				"absolute": outside + "/f", "home": "~/f", "dots": dots + "/f", "link": "link", "linked directory": "dir/f",
			}[way]
			if err := os.WriteFile(outside+"/f", []byte("one"), 0o600); err != nil {
				t.Fatal(err)
			}
			wantText(t, b.run(NameFileRead, args{"path": path}), tool.StatusSuccess, "one")
			wantPart(t, b.run(NameFileEdit, args{"path": path, "old": "one", "new": "two"}), tool.StatusSuccess, "line 1")
			wantText(t, b.run(NameFileRead, args{"path": path}), tool.StatusSuccess, "two")
			wantPart(t, b.run(NameFileWrite, args{"path": path, "content": "three"}), tool.StatusSuccess, "Wrote 5 bytes")
			if text, err := os.ReadFile(outside + "/f"); string(text) != "three" {
				t.Errorf("got %q %v", text, err)
			}
			if info, err := os.Lstat(b.path("link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Error("the link was replaced")
			}
		})
	}
}

func TestFilesFollowLinksInsideTheWorkspace(t *testing.T) {
	b := setup(t)
	b.file("real/f", "one")
	for link, target := range map[string]string{"rel": "real/f", "abs": b.path("real/f"), "dir": b.path("real")} {
		if err := os.Symlink(target, b.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"rel", "abs", "dir/f", b.path("abs"), "./real/../rel"} {
		wantText(t, b.run(NameFileRead, args{"path": path}), tool.StatusSuccess, "one")
	}
	wantPart(t, b.run(NameFileWrite, args{"path": "abs", "content": "two"}), tool.StatusSuccess, "Wrote")
	if got := b.content("real/f"); got != "two" {
		t.Errorf("got %q", got)
	}
}

func TestAWorkspaceBehindALink(t *testing.T) {
	b := setup(t)
	b.file("f", "one")
	link := filepath.Join(realTempDir(t), "link")
	if err := os.Symlink(b.workspace, link); err != nil {
		t.Fatal(err)
	}
	real := b.workspace
	b.workspace = link
	for _, path := range []string{"f", link + "/f", real + "/f"} {
		wantText(t, b.run(NameFileRead, args{"path": path}), tool.StatusSuccess, "one")
	}
	wantPart(t, b.run(NameFileWrite, args{"path": real + "/g", "content": ""}), tool.StatusSuccess, "Created")
}

func TestSpecialFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name := range attempts("") {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			b.outside = true
			if err := syscall.Mkfifo(b.path("fifo"), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("fifo", b.path("link")); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]string{
				"fifo": "a named pipe", "link": "a named pipe", "/dev/zero": "a device", "/dev/tty": "a device",
			} {
				wantPart(t, b.run(name, attempts(path)[name]), tool.StatusError, want)
			}
			if info, err := os.Lstat(b.path("fifo")); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
				t.Error("the pipe was replaced")
			}
		})
	}
}

func TestTheWorkersOwnProcessIsNotRead(t *testing.T) {
	b := setup(t)
	b.outside = true
	for _, path := range []string{"/proc/self/environ", "/proc/self/status", "/proc"} {
		got := b.run(NameFileRead, args{"path": path})
		wantPart(t, got, tool.StatusError, "")
		if strings.Contains(got.Content, secretValue) {
			t.Errorf("%s leaks", path)
		}
	}
}

func TestBadPathsAreRefused(t *testing.T) {
	t.Parallel()
	for name := range attempts("") {
		for path, want := range map[string]string{
			"":                               "path is empty",
			"a\x00b":                         "NUL",
			strings.Repeat("a", 300):         "too long",
			strings.Repeat("a/", 2500) + "a": "at most 4096",
			"file/below":                     "not a directory",
			"loop":                           "can't be used",
			"file/evil\x1b[2K\u202e":         `evil\u001b[2K\u202e`,
		} {
			t.Run(name+" "+want, func(t *testing.T) {
				b := setup(t)
				b.file("file", "x")
				if err := os.Symlink("loop", b.path("loop")); err != nil {
					t.Fatal(err)
				}
				wantPart(t, b.run(name, attempts(path)[name]), tool.StatusError, want)
			})
		}
	}
}

func TestFileToolsDecodeStrictly(t *testing.T) {
	t.Parallel()
	tests := []struct{ tool, args, want string }{
		{NameFileRead, `{"path":"f","follow":true}`, "follow"},
		{NameFileRead, `{"path":"f","path":"g"}`, "path"},
		{NameFileRead, `{"Path":"f"}`, "Path"},
		{NameFileRead, `{"path":1}`, "path"},
		{NameFileRead, `{"path":"f","offset":"1"}`, "offset"},
		{NameFileRead, `{"path":"f","offset":0}`, "offset is 0"},
		{NameFileRead, `{"path":"f","limit":-1}`, "limit is -1"},
		{NameFileWrite, `{"path":"f"}`, "content is missing"},
		{NameFileWrite, `{"path":"f","content":null}`, "content is missing"},
		{NameFileWrite, `{"path":"f","content":"x","file_path":"/etc/passwd"}`, "file_path"},
		{NameFileEdit, `{"path":"f","old":"","new":"x"}`, "old is empty"},
		{NameFileEdit, `{"path":"f","old":"x"}`, "new is missing"},
		{NameFileEdit, `{"path":"f","old":"x","new":"x"}`, "same"},
		{NameAskHuman, `{"question":"q","urgent":true}`, "urgent"},
	}
	for _, tt := range tests {
		t.Run(tt.tool+" "+tt.args, func(t *testing.T) {
			b := setup(t)
			b.file("f", "x")
			wantPart(t, b.run(tt.tool, tt.args), tool.StatusError, tt.want)
			if got := b.content("f"); got != "x" {
				t.Errorf("the file has %q", got)
			}
		})
	}
}

func TestFileToolsNeedAWorkspace(t *testing.T) {
	t.Parallel()
	b := &bench{t: t}
	for name, a := range attempts("f") {
		for _, dir := range []string{"", "relative", "/does/not/exist"} {
			b.workspace = dir
			if out, err := b.tool(name).Run(context.Background(), b.call(name, a)); err == nil {
				t.Errorf("%s in %q: got %+v", name, dir, out.Result)
			}
		}
	}
}

// A directory that is swapped for a link again and again must never lead a tool out of the workspace.
func TestASwappedDirectoryNeverLeadsOut(t *testing.T) {
	b := setup(t)
	outside := realTempDir(t)
	if err := os.WriteFile(outside+"/f", []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.file("d/f", "fine")
	if err := os.Symlink(outside, b.path("l")); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, r := range [][2]string{{"d", "kept"}, {"l", "d"}, {"d", "l"}, {"kept", "d"}} {
				_ = os.Rename(b.path(r[0]), b.path(r[1]))
			}
		}
	}()
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); {
		for name, a := range attempts("d/f") {
			if got := b.run(name, a); strings.Contains(got.Content, "secret") {
				t.Fatalf("%s: %s", name, got.Content)
			}
		}
	}
	close(stop)
	<-done
	if text, err := os.ReadFile(outside + "/f"); string(text) != "secret" {
		t.Errorf("outside was written: %q %v", text, err)
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	set, err := tool.NewSet(All(Config{})...)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(set.Names(), " "); got != "bash file_read file_write file_edit http_fetch ask_human" {
		t.Errorf("got %s", got)
	}
	for _, d := range set.Definitions() {
		var schema struct {
			Properties map[string]any
			Additional *bool `json:"additionalProperties"`
		}
		if err := json.Unmarshal(d.Schema, &schema); err != nil || schema.Additional == nil || *schema.Additional {
			t.Errorf("%s: the schema is open: %v", d.Name, err)
		}
		if d.Field != "" && schema.Properties[d.Field] == nil {
			t.Errorf("%s has no argument %s", d.Name, d.Field)
		}
		if !d.Closed || d.Description == "" || d.Timeout <= 0 || d.Risk == "" {
			t.Errorf("%s: %+v", d.Name, d)
		}
	}
	if _, ok := New("rm", Config{}); ok {
		t.Error("there is a tool rm")
	}
}
