package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/interaction"
)

// What can be answered to an unknown outcome is said everywhere in the words that the command line and the API take.
func TestTheDocumentsAnswerAnUnknownOutcomeInTheSameWords(t *testing.T) {
	t.Parallel()
	q := interaction.Open(interaction.Request{ID: "i", Type: interaction.TypeToolApproval, Kind: interaction.KindOutcomeUnknown}, testNow).Request
	if len(q.Options) != 3 {
		t.Fatalf("options %+v", q.Options)
	}
	var words []any
	for _, o := range q.Options {
		words = append(words, fmt.Sprintf("`%s` (`%s`)", o.ID, o.Action))
	}
	want := fmt.Sprintf("%s, %s or %s", words...)
	for _, name := range []string{"README.md", "docs/operations.md", "docs/cli.md"} {
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
			t.Errorf("%s does not say %s", name, want)
		}
	}
}
