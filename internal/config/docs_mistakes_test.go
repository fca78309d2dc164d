package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// documented finds the messages in the document's table of mistakes.
var documented = regexp.MustCompile("(?m)^\\| `([^|]+)` \\| [^|]+ \\|$")

func TestTheDocumentedMistakesAreWhatIsSaid(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Mistakes\n")
	rows := documented.FindAllStringSubmatch(section, -1)
	if !ok || len(rows) < 20 {
		t.Fatalf("%d messages are documented", len(rows))
	}
	var said strings.Builder
	for _, m := range mistakes {
		said.WriteString(m.want + "\n")
	}
	for _, row := range rows {
		if !strings.Contains(said.String(), row[1]) {
			t.Errorf("no mistake says %q", row[1])
		}
	}
}
