package builtin

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"holdpoint/tool"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, old, new, want, say string }{
		{"a word", "one two three", "two", "2", "one 2 three", "at line 1: 3 bytes replaced by 1."},
		{"several lines", "a\nb\nc\nd\n", "b\nc\n", "x\n", "a\nx\nd\n", "at line 2"},
		{"a removal", "a\nb\n", "b\n", "", "a\n", "at line 2"},
		{"all of it", "a", "a", "b", "b", "at line 1"},
		{"unicode", "zażółć gęślą", "żółć", "日本🙂", "za日本🙂 gęślą", "at line 1"},
		{"nothing is a pattern", "a.*b $1", ".*", "$0\\1", "a$0\\1b $1", "at line 1"},
		{"other bytes stay", "caf\xe9 one\n", "one", "two", "caf\xe9 two\n", "at line 1"},
		{"CRLF written as LF", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n", "stay so"},
		{"CRLF written as CRLF", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n", "at line 1"},
		{"a new line in CRLF", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n", "stay so"},
		{"mixed line ends are exact", "a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n", "at line 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t)
			b.file("f", tt.content)
			wantPart(t, b.run(NameFileEdit, args{"path": "f", "old": tt.old, "new": tt.new}), tool.StatusSuccess, "Edited “f” ", tt.say)
			if got := b.content("f"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, old, say string }{
		{"what is not there", "one\n", "two", "old does not occur in it"},
		{"another case", "One\n", "one", "does not occur"},
		{"other blanks", "a  b\n", "a b", "does not occur"},
		{"two of them", "x\ny\nx\n", "x", "old occurs 2 times in it, at lines 1, 3."},
		{"two on a line", "x x\n", "x", "2 times in it, at lines 1, 1."},
		{"overlapping ones", "aaa", "aa", "2 times"},
		{"many", strings.Repeat("x\n", 50), "x", "50 times in it, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, …."},
		{"very many", strings.Repeat("x\n", 5000), "x", "at least 1000 times"},
		{"binary", "a\x00b", "a", "binary"},
		{"an empty file", "", "a", "does not occur"},
		{"mixed line ends", "a\r\nb\nc\n", "a\nb", "does not occur"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t)
			before, err := os.Stat(b.file("f", tt.content))
			if err != nil {
				t.Fatal(err)
			}
			wantPart(t, b.run(NameFileEdit, args{"path": "f", "old": tt.old, "new": "new"}), tool.StatusError, "“f” is left as it is: ", tt.say)
			after, err := os.Stat(b.path("f"))
			if err != nil || !os.SameFile(before, after) || b.content("f") != tt.content {
				t.Error("the file was changed")
			}
		})
	}
}

func TestEditNeedsTheFile(t *testing.T) {
	b := setup(t)
	wantPart(t, b.run(NameFileEdit, args{"path": "f", "old": "a", "new": "b"}), tool.StatusError, "does not exist: use file_write")
	wantPart(t, b.run(NameFileEdit, args{"path": "d/f", "old": "a", "new": "b"}), tool.StatusError, "does not exist")
	if got := b.entries("."); got != "" {
		t.Errorf("got %s", got)
	}
}

func TestEditBoundsSizes(t *testing.T) {
	b := setup(t)
	b.file("f", "x"+strings.Repeat("y", maxFile))
	wantPart(t, b.run(NameFileEdit, args{"path": "f", "old": "x", "new": "z"}), tool.StatusError, "at most")
	b.file("f", "x"+strings.Repeat("y", maxFile-1))
	wantPart(t, b.run(NameFileEdit, args{"path": "f", "old": "x", "new": "zz"}), tool.StatusError, "would have")
}

func FuzzSubstitute(f *testing.F) {
	f.Add([]byte("one two"), "two", "2")
	f.Add([]byte("a\r\nb\r\n"), "a\nb", "x\ny")
	f.Add([]byte("aaa"), "aa", "b")
	f.Add([]byte("a\r\nb\n"), "\n", "\r\n")
	f.Fuzz(func(t *testing.T, content []byte, old, new string) {
		if old == "" {
			return
		}
		before := bytes.Clone(content)
		e, err := substitute(content, old, new)
		if !bytes.Equal(before, content) {
			t.Fatal("the content was changed in place")
		}
		if err != nil {
			return
		}
		if onlyCRLF(content) {
			old, new = toCRLF(old), toCRLF(new)
		}
		// Once and only once, and nothing else was touched.
		if bytes.Count(content, []byte(old)) != 1 || !bytes.Equal(e.content, bytes.Replace(content, []byte(old), []byte(new), 1)) {
			t.Errorf("%q: %q by %q gave %q", content, old, new, e.content)
		}
		if at := bytes.Index(content, []byte(old)); e.line != 1+bytes.Count(content[:at], []byte("\n")) {
			t.Errorf("line %d", e.line)
		}
	})
}
