package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/config"
)

// snippet is a fenced block of a document.
type snippet struct {
	file     string
	line     int
	language string
	text     string
}

func (s snippet) String() string { return fmt.Sprintf("%s:%d", s.file, s.line) }

const repository = "../.."

// markdown names README.md and the documents below docs/.
func markdown(t *testing.T) []string {
	t.Helper()
	names := []string{filepath.Join(repository, "README.md")}
	err := filepath.WalkDir(filepath.Join(repository, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// snippets are the fenced blocks of README.md and docs/.
func snippets(t *testing.T) []snippet {
	t.Helper()
	var out []snippet
	for _, name := range markdown(t) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fenced(name, string(data))...)
	}
	return out
}

func fenced(file, text string) []snippet {
	var out []snippet
	var open *snippet
	for n, line := range strings.Split(text, "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &snippet{file: file, line: n + 1, language: language}
		case fence:
			out = append(out, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return out
}

func TestTheDocumentsYAMLIsAConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	count := 0
	for _, s := range snippets(t) {
		if s.language != "yaml" {
			continue
		}
		count++
		// Each is a file of its own; together they are one configuration, so that names resolve.
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%04d.yaml", filepath.Base(s.file), s.line)), []byte(s.text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if count == 0 {
		t.Fatal("there is no YAML in the documents")
	}
	cfg, err := config.Load(dir, func(name string) (string, bool) {
		if name == "HOLDPOINT_SECRET_KEY" || name == "HOLDPOINT_OLD_KEY" {
			return base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%-32s", name))), true
		}
		if name == "HOLDPOINT_WEBHOOK_SECRET" {
			return "whsec_" + base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%-32s", name))), true
		}
		if strings.HasSuffix(name, "_DSN") {
			return "postgres://holdpoint:secret@db.internal/holdpoint", true
		}
		return "a-value", true
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := cfg.Agent("coder"); !ok {
		t.Error("the agent of the README is not there")
	}
}

// answers finds the JSON that the README's commands send.
var answers = regexp.MustCompile(`-d '(\{[^']*\})'`)

func TestTheDocumentsJSONIsTaken(t *testing.T) {
	t.Parallel()
	for _, s := range snippets(t) {
		if s.language == "json" && !json.Valid([]byte(s.text)) {
			t.Errorf("%s is not JSON", s)
		}
		for _, m := range answers.FindAllStringSubmatch(s.text, -1) {
			if strings.Contains(m[1], `"agent"`) || strings.Contains(m[1], `"title"`) {
				continue // sent for real by TestTheDocumentsCommandsRun
			}
			_, err := interaction.DecodeResponse([]byte(m[1]))
			if strings.Contains(m[1], `_run"`) {
				err = interaction.Strict([]byte(m[1]), &api.Control{})
			}
			if err != nil {
				t.Errorf("%s: %s: %v", s, m[1], err)
			}
		}
	}
}

// links finds the targets of a document's links.
var links = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)

func TestTheDocumentsLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, name := range markdown(t) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range links.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
			}
		}
	}
}

func TestEveryBlockHasALanguageThatIsChecked(t *testing.T) {
	t.Parallel()
	for _, s := range snippets(t) {
		switch s.language {
		case "sh", "yaml", "json", "rules": // checked
		case "console", "mermaid", "": // not run: long-lived commands, pictures, plain text
		default:
			t.Errorf("%s: nothing checks a block of %q", s, s.language)
		}
	}
}

func TestTheCommandLinesPageNamesEveryCommand(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repository, "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	root, _ := newRoot(processCLI())
	for _, cmd := range root.Commands() {
		if !regexp.MustCompile("`(holdpoint )?" + cmd.Name() + "[ `|]").Match(page) {
			t.Errorf("docs/cli.md does not say what `holdpoint %s` is for", cmd.Name())
		}
	}
}
