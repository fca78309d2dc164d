package web

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page's help and the document tell every place that a key leads to.
func TestTheHelpTellsEveryPlaceThatAKeyLeadsTo(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	_, goes, _ := strings.Cut(read("static/keys.js"), "const goes = {")
	goes, _, _ = strings.Cut(goes, "}")
	keys := regexp.MustCompile(`([a-z]): "/`).FindAllStringSubmatch(goes, -1)
	if len(keys) < 6 {
		t.Fatalf("the keys were not found: %q", goes)
	}
	for name, line := range map[string]string{
		"templates/layout.html": `<dt><kbd>g</kbd> then .*</dt>`,
		"../../docs/inbox.md":   "\\| `g` then [^|]*\\|",
	} {
		told := strings.NewReplacer("<kbd>", "`", "</kbd>", "`").Replace(regexp.MustCompile(line).FindString(read(name)))
		for _, k := range keys {
			if !strings.Contains(told, "`"+k[1]+"`") {
				t.Errorf("%s does not tell what g and %s do: %q", name, k[1], told)
			}
		}
	}
}
