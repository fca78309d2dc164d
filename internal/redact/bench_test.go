package redact_test

import (
	"strings"
	"testing"

	"holdpoint/internal/redact"
)

// ordinary are texts as agents and their tools write them: of a log, of prose, of code and of a page's address.
var ordinary = map[string]string{
	"log":   `time=2026-03-01T10:00:00Z level=INFO msg="tool call finished" run_id=0b1f tool=bash status=success duration=1.204s is_final=false` + "\n",
	"prose": "The build is green again. What failed was a test that asked the clock twice; it is fixed, and its value is compared once now.\n",
	"code":  "if err := s.find(ctx, name); err != nil { return fmt.Errorf(\"key %s: %w\", name, err) }\n",
	"words": "The form asks for a password; it is checked by the server, and its token is stored with a name and a value for later.\n",
	"url":   "GET https://api.example.com/v1/items?page=2&sort=name&filter=value HTTP/1.1 user-agent: agent/1.0 accept: application/json\n",
}

func BenchmarkText(b *testing.B) {
	r := redact.New()
	for _, name := range []string{"log", "prose", "code", "words", "url"} {
		for size, times := range map[string]int{"line": 1, "16KiB": 16 << 10 / len(ordinary[name])} {
			text := strings.Repeat(ordinary[name], times)
			b.Run(name+"/"+size, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if _, hidden := r.Text(text); hidden {
						b.Fatal("something is hidden in ordinary text")
					}
				}
			})
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	r := redact.New()
	one := `{"name":"item","value":"some text","count":3,"tags":["a","b"],"path":"src/main.go","content":"func main() {}"}`
	raw := []byte("[" + strings.Repeat(one+",", 150) + one + "]")
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, hidden := r.JSON(raw); hidden {
			b.Fatal("something is hidden in ordinary JSON")
		}
	}
}
