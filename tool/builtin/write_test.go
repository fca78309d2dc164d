package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"holdpoint/tool"
)

func (b *bench) entries(dir string) string {
	b.t.Helper()
	list, err := os.ReadDir(b.path(dir))
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func (b *bench) base(name string, a args) string {
	b.t.Helper()
	got, err := b.tool(name).(tool.Based).Base(context.Background(), b.call(name, a))
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

func (b *bench) preview(name string, a args) string {
	b.t.Helper()
	got, err := b.tool(name).(tool.Previewer).Preview(context.Background(), b.call(name, a))
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

func TestWriteCreates(t *testing.T) {
	b := setup(t)
	wantText(t, b.run(NameFileWrite, args{"path": "a/b/ż 🙂.txt", "content": "żółć"}), tool.StatusSuccess, "Created “a/b/ż 🙂.txt” with 8 bytes.")
	if got := b.content("a/b/ż 🙂.txt"); got != "żółć" {
		t.Errorf("got %q", got)
	}
	wantText(t, b.run(NameFileWrite, args{"path": "empty", "content": ""}), tool.StatusSuccess, "Created “empty” with 0 bytes.")
	if got := b.entries("a/b") + "|" + b.entries("."); got != "ż 🙂.txt|a empty" {
		t.Errorf("got %s", got)
	}
}

func TestWriteReplacesAndKeepsTheMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o444, 0o666} {
		t.Run(mode.String(), func(t *testing.T) {
			b := setup(t)
			if err := os.Chmod(b.file("f", "old one"), mode); err != nil {
				t.Fatal(err)
			}
			wantText(t, b.run(NameFileWrite, args{"path": "f", "content": "new"}), tool.StatusSuccess, "Wrote 3 bytes to “f”, which had 7 bytes.")
			wantPart(t, b.run(NameFileEdit, args{"path": "f", "old": "ew", "new": "o"}), tool.StatusSuccess, "Edited")
			info, err := os.Stat(b.path("f"))
			if err != nil || info.Mode() != mode || b.content("f") != "no" || b.entries(".") != "f" {
				t.Errorf("got %v %q %s", info.Mode(), b.content("f"), b.entries("."))
			}
		})
	}
}

func TestWriteRefusesDirectories(t *testing.T) {
	b := setup(t)
	b.file("d/f", "x")
	for _, path := range []string{"d", "d/", ".", "new/", b.workspace} {
		wantPart(t, b.run(NameFileWrite, args{"path": path, "content": "x"}), tool.StatusError, "name a file")
	}
	wantPart(t, b.run(NameFileEdit, args{"path": "d", "old": "a", "new": "b"}), tool.StatusError, "is a directory")
	if got := b.entries("."); got != "d" {
		t.Errorf("got %s", got)
	}
}

func TestWriteIsAtomicForReaders(t *testing.T) {
	b := setup(t)
	contents := []string{strings.Repeat("a", 200_000), strings.Repeat("b", 100_000)}
	b.file("f", contents[0])
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				text, err := os.ReadFile(b.path("f"))
				if err != nil || (string(text) != contents[0] && string(text) != contents[1]) {
					t.Errorf("a reader saw %d bytes, %v", len(text), err)
					return
				}
			}
		})
	}
	for i := range 30 {
		if r := b.run(NameFileWrite, args{"path": "f", "content": contents[i%2]}); r.Status != tool.StatusSuccess {
			t.Error(r.Content)
		}
	}
	close(stop)
	readers.Wait()
	if got := b.entries("."); got != "f" {
		t.Errorf("got %s", got)
	}
}

func TestAWriteDoesNotOverrunAnother(t *testing.T) {
	b := setup(t)
	b.file("f", "n=0\n")
	p, err := locate(b.call(NameFileEdit, args{}), "", "f", false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	was, err := p.take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b.file("f", "someone else's")
	if err := p.replace(context.Background(), []byte("mine"), was); err == nil || !strings.Contains(err.Error(), "changed by someone else") {
		t.Errorf("got %v", err)
	}
	if b.content("f") != "someone else's" || b.entries(".") != "f" {
		t.Errorf("got %q, %s", b.content("f"), b.entries("."))
	}
}

func TestWriteStopsWhenTimeIsOver(t *testing.T) {
	b := setup(t)
	b.file("f", "old")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, a := range map[string]args{NameFileWrite: {"path": "f", "content": "new"}, NameFileEdit: {"path": "f", "old": "old", "new": "new"}} {
		if out, err := b.tool(name).Run(ctx, b.call(name, a)); err == nil {
			t.Errorf("%s: got %+v", name, out.Result)
		}
	}
	if b.content("f") != "old" || b.entries(".") != "f" {
		t.Errorf("got %q, %s", b.content("f"), b.entries("."))
	}
}

func TestBaseIsTheHashOfTheFile(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]args{NameFileWrite: {"path": "d/f", "content": "new"}, NameFileEdit: {"path": "d/f", "old": "a", "new": "b"}} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			if got := b.base(name, a); got != "absent" {
				t.Errorf("got %s for a missing directory", got)
			}
			if b.entries(".") != "" {
				t.Error("asking made a directory")
			}
			for _, content := range []string{"", "a", "\x00binary"} {
				b.file("d/f", content)
				sum := sha256.Sum256([]byte(content))
				if got := b.base(name, a); got != hex.EncodeToString(sum[:]) {
					t.Errorf("got %s for %q", got, content)
				}
			}
			a["path"] = "/etc/passwd"
			if got, err := b.tool(name).(tool.Based).Base(context.Background(), b.call(name, a)); err == nil {
				t.Errorf("got %s for a file outside", got)
			}
		})
	}
}

func TestPreview(t *testing.T) {
	b := setup(t)
	b.file("f", "one\ntwo\nthree\n")
	b.file("bin", "\x00\x01")
	tests := []struct {
		name, tool string
		args       args
		want       string
	}{
		{"an edit", NameFileEdit, args{"path": "f", "old": "two", "new": "2\u202e"},
			"--- “f”\n+++ “f”\n@@ -1,3 +1,3 @@\n one\n-two\n+2\\u202e\n three\n"},
		{"a replacement", NameFileWrite, args{"path": "f", "content": "one\ntwo\r\nthree"},
			"--- “f”\n+++ “f”\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+two\\u000d\n+three\n\\ No newline at end of file\n"},
		{"a new file", NameFileWrite, args{"path": "new/g", "content": "x\n"}, "--- /dev/null\n+++ “new/g”\n@@ -0,0 +1 @@\n+x\n"},
		{"an empty file", NameFileWrite, args{"path": "g", "content": ""}, "“g” is created, empty."},
		{"nothing", NameFileWrite, args{"path": "f", "content": "one\ntwo\nthree\n"}, "“f” stays as it is."},
		{"binary", NameFileWrite, args{"path": "bin", "content": "x"}, "“bin” is binary: 2 bytes are replaced by 1 bytes."},
	}
	for _, tt := range tests {
		if got := b.preview(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s: got\n%q, want\n%q", tt.name, got, tt.want)
		}
	}
	if b.content("f") != "one\ntwo\nthree\n" || b.entries(".") != "bin f" {
		t.Error("a preview changed something")
	}
	call := b.call(NameFileEdit, args{"path": "f", "old": "four", "new": "x"})
	if _, err := b.tool(NameFileEdit).(tool.Previewer).Preview(context.Background(), call); err == nil {
		t.Error("want an error for an edit that can't be made")
	}
}

func TestPreviewIsBounded(t *testing.T) {
	b := setup(t)
	var old, now strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&old, "old %d\n", i*7919%60_000)
		fmt.Fprintf(&now, "new %d\n", i*104_729%60_000)
	}
	b.file("f", old.String())
	if got := b.preview(NameFileWrite, args{"path": "f", "content": now.String()}); len(got) > maxPreview || !strings.Contains(got, "bytes left out") {
		t.Errorf("got %d bytes", len(got))
	}
}
