package config

import (
	"fmt"
	"holdpoint/interaction"
	"os"
	"strings"
	"testing"
)

const document = "../../docs/agents.md"

// documentation is the part of the document that is made from the tables.
func documentation() string {
	var b strings.Builder
	for _, k := range kinds() {
		fmt.Fprintf(&b, "## type: %s\n\n%s\n\n", k.name, k.object.doc)
		table(&b, k.object, "")
		for _, tool := range variantsOf(k.object) {
			fmt.Fprintf(&b, "`params` of %s:\n\n", tool)
			table(&b, paramsOf(tool), "")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func variantsOf(o *object) (out []string) {
	for _, name := range builtins {
		if _, ok := o.params[name]; ok {
			out = append(out, name)
		}
	}
	return out
}

// table writes a mapping's keys, and below it those of the mappings inside.
func table(b *strings.Builder, o *object, of string) {
	if of != "" {
		fmt.Fprintf(b, "Each of `%s`:\n\n", of)
	}
	b.WriteString("| key | value | without it | |\n| --- | --- | --- | --- |\n")
	var inner []key
	for _, k := range o.keys {
		if k.name == "type" || k.name == "name" && k.shape == shapeName {
			continue
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.name, valueText(k), withoutText(k), k.doc)
		if k.items != nil {
			inner = append(inner, k)
		}
	}
	b.WriteString("\n")
	for _, k := range inner {
		table(b, k.items, k.name)
	}
}

func valueText(k key) string {
	switch k.shape {
	case shapeName, shapeText, shapeSecret, shapeConn:
		return "text"
	case shapeURL:
		return "URL"
	case shapePath, shapeFile:
		return "path"
	case shapeFlag:
		return "`true`, `false`"
	case shapeInteger:
		return fmt.Sprintf("%d to %d", k.low, k.high)
	case shapeDuration:
		return "time, at most " + interaction.FormatSpan(k.limit)
	case shapeChoice:
		return "`" + strings.Join(k.choices, "`, `") + "`"
	case shapeTexts, shapeWords:
		return "list of texts"
	case shapeRefer:
		return "name of a " + k.refers
	case shapeRefers:
		return "list of " + k.refers + "s"
	case shapeFree, shapeParams, shapeSecrets, shapeObject:
		return "mapping"
	case shapeObjects:
		return "list of mappings"
	case shapeNumber:
		return "number"
	case shapeValue:
		return "any value"
	default:
		return "?"
	}
}

func withoutText(k key) string {
	switch {
	case k.required || k.when != nil && k.when.required:
		if k.when != nil {
			return "refused with " + k.when.key + " " + strings.Join(k.when.values, ", ")
		}
		return "refused"
	case k.def != nil:
		return fmt.Sprintf("`%v`", k.def)
	case k.defDoc != "":
		return k.defDoc
	}
	return "none"
}

// TestTheDocumentationIsThatOfTheTables is what keeps a key from being undocumented. UPDATE_GOLDENS writes it anew.
func TestTheDocumentationIsThatOfTheTables(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), "<!-- keys -->\n")
	had, tail, closed := strings.Cut(rest, "<!-- /keys -->\n")
	if !ok || !closed {
		t.Fatalf("%s has no place for the keys", document)
	}
	want := "\n" + documentation() + "\n"
	if had == want {
		return
	}
	if os.Getenv("UPDATE_GOLDENS") == "" {
		t.Fatalf("%s has not what the tables say; run this test with UPDATE_GOLDENS=1 and look at the difference", document)
	}
	if err := os.WriteFile(document, []byte(head+"<!-- keys -->\n"+want+"<!-- /keys -->\n"+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEveryKeyIsExplained(t *testing.T) {
	t.Parallel()
	var look func(at string, o *object)
	look = func(at string, o *object) {
		for _, k := range o.keys {
			if !strings.HasSuffix(k.doc, ".") || valueText(k) == "?" {
				t.Errorf("%s.%s is not explained: %q", at, k.name, k.doc)
			}
			if k.items != nil {
				look(at+"."+k.name, k.items)
			}
		}
		for name, p := range o.params {
			look(at+"."+name, p)
		}
	}
	for _, k := range kinds() {
		look(k.name, k.object)
		if k.object.doc == "" {
			t.Errorf("%s is not explained", k.name)
		}
	}
}
