package builtin

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"holdpoint/tool"
)

func TestReadText(t *testing.T) {
	t.Parallel()
	lines := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String()
	}
	tests := []struct {
		name, content string
		args          args
		want          string
	}{
		{"all", "a\nb\n", args{}, "a\nb\n"},
		{"no final newline", "a\nb", args{}, "a\nb"},
		{"CRLF", "a\r\nb\r\n", args{}, "a\r\nb\r\n"},
		{"empty", "", args{}, "[“f” is empty]"},
		{"one newline", "\n", args{}, "\n"},
		{"unicode", "żółć 日本 🙂\n", args{}, "żółć 日本 🙂\n"},
		{"from a line", lines(1, 9), args{"offset": 8}, lines(8, 9)},
		{"the last line", "a\nb", args{"offset": 2}, "b"},
		{"some lines", lines(1, 9), args{"offset": 3, "limit": 2},
			lines(3, 4) + "\n[These are lines 3 to 4 of “f”, which has 63 bytes. To read on: offset 5.]"},
		{"exactly the rest", lines(1, 9), args{"offset": 8, "limit": 2}, lines(8, 9)},
		{"not UTF-8", "caf\xe9\n", args{}, "caf\uFFFD\n\n[Bytes that are not UTF-8 are shown as \uFFFD.]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t)
			b.file("f", tt.content)
			tt.args["path"] = "f"
			wantText(t, b.run(NameFileRead, tt.args), tool.StatusSuccess, tt.want)
		})
	}
}

func TestReadFailures(t *testing.T) {
	b := setup(t)
	b.file("f", "a\nb\n")
	wantPart(t, b.run(NameFileRead, args{"path": "f", "offset": 3}), tool.StatusError, "has 2 lines: offset 3 is behind its end")
	wantPart(t, b.run(NameFileRead, args{"path": "g"}), tool.StatusError, "“g” does not exist.")
	wantPart(t, b.run(NameFileRead, args{"path": "g/h"}), tool.StatusError, "does not exist")
}

func TestReadTellsBinary(t *testing.T) {
	b := setup(t)
	b.file("image", "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	wantText(t, b.run(NameFileRead, args{"path": "image"}), tool.StatusSuccess, "[“image” is not UTF-8 text and is not shown: image/png, 16 bytes]")
}

func TestReadALargeFileInPages(t *testing.T) {
	b := setup(t)
	var want strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&want, "%d żółć %s\n", i, strings.Repeat("x", i%40))
	}
	b.file("f", want.String())
	var got strings.Builder
	for offset, pages := 1, 0; offset > 0; pages++ {
		if pages > 30 {
			t.Fatal("too many pages")
		}
		r := b.run(NameFileRead, args{"path": "f", "offset": offset})
		text, note, more := strings.Cut(r.Content, "\n[These are lines ")
		got.WriteString(text)
		if offset = 0; more {
			if _, err := fmt.Sscanf(note[strings.Index(note, "To read on:"):], "To read on: offset %d.", &offset); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got.String() != want.String() {
		t.Errorf("the pages have %d bytes, the file %d", got.Len(), want.Len())
	}
}

func TestReadALineThatIsTooLong(t *testing.T) {
	b := setup(t)
	b.file("f", "a\n"+strings.Repeat("ł", 100_000)+"\nend\n")
	wantPart(t, b.run(NameFileRead, args{"path": "f"}), tool.StatusSuccess, "a\n\n[These are lines 1 to 1 of “f”, which has 200007 bytes. To read on: offset 2.]")
	wantPart(t, b.run(NameFileRead, args{"path": "f", "offset": 2}), tool.StatusSuccess, "łł\n[Line 2 is too long: only its beginning is shown. ", "To read on: offset 3.]")
	wantText(t, b.run(NameFileRead, args{"path": "f", "offset": 3}), tool.StatusSuccess, "end\n")
}

func TestReadADirectory(t *testing.T) {
	b := setup(t)
	b.file("d/b.txt", "12345")
	b.file("d/sub/x", "")
	b.file("d/odd\nname", "")
	if err := os.Symlink("/etc/passwd", b.path("d/link")); err != nil {
		t.Fatal(err)
	}
	want := "b.txt (5 bytes)\nlink -> /etc/passwd\nodd\\nname (0 bytes)\nsub/\n"
	wantText(t, b.run(NameFileRead, args{"path": "d"}), tool.StatusSuccess, want)
	wantText(t, b.run(NameFileRead, args{"path": "d/"}), tool.StatusSuccess, want)
	wantText(t, b.run(NameFileRead, args{"path": "."}), tool.StatusSuccess, "d/\n")
	wantText(t, b.run(NameFileRead, args{"path": b.workspace}), tool.StatusSuccess, "d/\n")
	if err := os.Mkdir(b.path("none"), 0o755); err != nil {
		t.Fatal(err)
	}
	wantText(t, b.run(NameFileRead, args{"path": "none"}), tool.StatusSuccess, "[“none” is an empty directory]")
}

func TestReadALargeDirectory(t *testing.T) {
	b := setup(t)
	for i := range maxEntries + 7 {
		b.file(fmt.Sprintf("d/%05d", i), "")
	}
	wantPart(t, b.run(NameFileRead, args{"path": "d"}), tool.StatusSuccess, "00000 (0 bytes)\n", "00999 (0 bytes)\n[7 more entries are not listed")
}
