package builtin

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func written(limit int, parts ...string) string {
	h := newHeadTail(limit)
	for _, p := range parts {
		if n, err := h.Write([]byte(p)); n != len(p) || err != nil {
			panic(fmt.Sprint(n, err))
		}
	}
	return h.String()
}

func TestHeadTail(t *testing.T) {
	t.Parallel()
	const limit = omission + 20 // ten bytes of each end
	tests := []struct {
		name  string
		parts []string
		want  string
	}{
		{"nothing", nil, ""},
		{"a little", []string{"ab", "c"}, "abc"},
		{"as much as fits", []string{"0123456789", "abcdefghij"}, "0123456789abcdefghij"},
		{"one more", []string{"0123456789abcdefghijk"}, "0123456789\n… 1 bytes left out …\nbcdefghijk"},
		{"in small parts", strings.Split("0123456789-----abcdefghij", ""), "0123456789\n… 5 bytes left out …\nabcdefghij"},
		{"no rune is cut", []string{"123456789łóóó", "-ąćęńśź"}, "123456789\n… 11 bytes left out …\nćęńśź"},
		{"a rune in two writes", []string{"\xc5", "\x82"}, "ł"},
		{"half a rune at the end", []string{"a\xc5"}, "a\uFFFD"},
		{"half a rune in the middle", []string{"\xc5", "a"}, "\uFFFDa"},
		{"no runes, no NUL", []string{"a\xff\x00b"}, "a\uFFFD\uFFFDb"},
	}
	for _, tt := range tests {
		if got := written(limit, tt.parts...); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzHeadTail(f *testing.F) {
	f.Add([]byte("hello"), 100, 1)
	f.Add([]byte(strings.Repeat("żółć 🙂", 40)), 90, 3)
	f.Add([]byte("a\xc5\xff\x00\xf0\x9f"), 80, 2)
	f.Fuzz(func(t *testing.T, data []byte, limit, step int) {
		limit, step = 80+abs(limit)%1000, 1+abs(step)%len(append(data, 0))
		h := newHeadTail(limit)
		for rest := data; len(rest) > 0; {
			n := min(step, len(rest))
			_, _ = h.Write(rest[:n])
			rest = rest[n:]
			if cap(h.tail) > 16*limit+16*step {
				t.Fatalf("%d bytes are held for a limit of %d", cap(h.tail), limit)
			}
		}
		got := h.String()
		if len(got) > limit || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Fatalf("got %d bytes: %q", len(got), got)
		}
		if utf8.Valid(data) && !strings.Contains(string(data), "\x00") {
			head, tail, cut := strings.Cut(got, "\n… ")
			if !cut && got != string(data) {
				t.Fatalf("got %q, want %q", got, data)
			}
			if _, after, ok := strings.Cut(tail, "bytes left out …\n"); cut && ok && !strings.Contains(string(data), "…") &&
				(!strings.HasPrefix(string(data), head) || !strings.HasSuffix(string(data), after)) {
				t.Fatalf("got %q of %q", got, data)
			}
		}
	})
}

func abs(n int) int {
	if n < 0 {
		n = -(n + 1)
	}
	return n
}
