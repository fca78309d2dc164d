package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"holdpoint/internal/config"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(config.SchemaURL, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(config.SchemaURL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// documents reads a file as an editor does: each document by itself.
func documents(t *testing.T, text []byte) []any {
	t.Helper()
	var out []any
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc any
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			return []any{"not YAML"}
		}
		if doc == nil {
			continue
		}
		raw, err := json.Marshal(doc)
		if err != nil {
			return []any{"not JSON"}
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, value)
	}
}

// configurations are the files of the tree that Load reads: those of the examples, of the demo and of this package.
func configurations(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, top := range []string{"testdata/good", "../../examples", "../app/demo/files"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && d.IsDir() && (d.Name() == "scripts" || d.Name() == "project" || d.Name() == "site") {
				return filepath.SkipDir
			}
			if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(out) < 3 {
		t.Fatalf("only %d files were found", len(out))
	}
	return out
}

func TestTheSchemaAcceptsEveryConfiguration(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	for _, name := range configurations(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, doc := range documents(t, text) {
			if err := schema.Validate(doc); err != nil {
				t.Errorf("%s, document %d: %v", name, i+1, err)
			}
		}
	}
}

// beyondASchema are mistakes that no schema of one document can see: they are about other documents, files, the
// environment, the engine, or arithmetic.
var beyondASchema = []string{
	"nothing in it", "duplicate name", "consent that contradicts itself", "a reference that is a secret by mistake", "a name of another type",
	"a rule for a tool with a slip in its name", "examples that come out differently", "nesting without end", "an empty variable",
	"agents that call in a circle",
}

func TestTheSchemaRefusesStructuralMistakes(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	refused := 0
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			fails := false
			for _, doc := range documents(t, []byte(m.yaml)) {
				fails = fails || schema.Validate(doc) != nil
			}
			if fails == slices.Contains(beyondASchema, m.name) {
				t.Errorf("the schema refuses it: %v", fails)
			}
			if fails {
				refused++
			}
		})
	}
	if refused < 25 {
		t.Errorf("only %d mistakes are refused by the schema", refused)
	}
}

// TestEveryKeyOfTheSchemaIsRead has the reader meet each key of the schema with a value that is never right: it must
// complain about the value, and of no key say that it is unknown.
func TestEveryKeyOfTheSchemaIsRead(t *testing.T) {
	t.Parallel()
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	heads := map[string]string{
		"model": "provider: openai\nmodel: m\n", "tool": "", "permission_store": "store_type: sqlite\n", "session_store": "store_type: sqlite\n",
		"policy": "", "agent": "", "policy_template": "", "policy_template_rules": "", "policy_template_rules_where": "",
		"policy_rules": "", "policy_rules_where": "", "policy_rules_examples": "", "policy_rules_escalate": "", "tool_params_bash": "", "tool_needs": "", "secrets": "", "redaction": "", "tool_params_http_fetch": "",
		"auth": "", "auth_tokens": "", "auth_oidc": "", "auth_oidc_roles": "", "auth_oidc_sign_in": "", "bridge": "", "adapter": "",
		"notifier": "kind: slack\n", "notifier_users": "",
		"workflow": "kind: loop\n", "workflow_stages": "", "workflow_stages_gate": "", "workflow_stages_gate_escalate": "",
	}
	for name := range schema.Defs {
		if _, ok := heads[name]; !ok && !strings.HasPrefix(name, "tool_params_") {
			t.Errorf("the schema has %s, which this test knows nothing of", name)
		}
	}
	for name, head := range heads {
		def, ok := schema.Defs[name]
		if !ok {
			t.Errorf("the schema has no %s", name)
			continue
		}
		for key := range def.Properties {
			if key == "type" || key == "name" && !strings.Contains(name, "_where") && name != "tool_needs" && name != "workflow_stages" {
				continue
			}
			t.Run(name+"."+key, func(t *testing.T) {
				_, err := config.Load(write(t, "c.yaml", withOddValue(name, head, key)), env(nil))
				var wrong *config.Error
				if !errors.As(err, &wrong) {
					t.Fatalf("the reader does not look at its value (%v)", err)
				}
				about := false
				for _, p := range wrong.Problems {
					about = about || strings.HasSuffix(p.Key, key) && !strings.Contains(p.Text, "unknown") && !strings.Contains(p.Text, "no setting") && p.Text != "is missing"
				}
				if !about {
					t.Errorf("nothing is said of its value:\n%v", err)
				}
			})
		}
	}
}

// withOddValue is a document in which a key has a value of a kind that it can't have.
func withOddValue(name, head, key string) string {
	odd := "{odd: [1]}"
	if key == "params" || key == "examples" || key == "oidc" || key == "sign_in" || key == "gate" {
		odd = "[1]"
	}
	line := func(k string) string {
		if k == "equals" {
			return k + ": ~"
		}
		return k + ": " + odd
	}
	if key == "script" {
		head = "provider: scripted\n"
	}
	switch name {
	case "policy_template_rules":
		return fmt.Sprintf("type: policy_template\nname: p\nrules:\n  - {decision: allow, %s}\n", line(key))
	case "policy_template_rules_where":
		return fmt.Sprintf("type: policy_template\nname: p\nrules:\n  - {match: bash, decision: allow, where: [{%s}]}\n", line(key))
	case "policy_rules":
		return fmt.Sprintf("type: policy\nname: p\nrules:\n  - {decision: ask, %s}\n", line(key))
	case "policy_rules_where":
		return fmt.Sprintf("type: policy\nname: p\nrules:\n  - {match: bash, decision: ask, where: [{%s}]}\n", line(key))
	case "policy_rules_escalate":
		return fmt.Sprintf("type: policy\nname: p\nrules:\n  - {match: bash, decision: ask, reviewers: [a], escalate: [{%s}]}\n", line(key))
	case "policy_rules_examples":
		return fmt.Sprintf("type: policy\nname: p\nrules:\n  - {match: bash, decision: ask, examples: {%s}}\n", line(key))
	case "auth_tokens":
		return fmt.Sprintf("type: auth\nname: a\ntokens: [{%s}]\n", line(key))
	case "auth_oidc":
		return fmt.Sprintf("type: auth\nname: a\noidc: {%s}\n", line(key))
	case "auth_oidc_roles":
		return fmt.Sprintf("type: auth\nname: a\noidc: {roles: [{%s}]}\n", line(key))
	case "auth_oidc_sign_in":
		return fmt.Sprintf("type: auth\nname: a\noidc: {sign_in: {%s}}\n", line(key))
	case "notifier_users":
		return fmt.Sprintf("type: notifier\nname: n\nkind: slack\nusers: [{%s}]\n", line(key))
	case "workflow_stages":
		return fmt.Sprintf("type: workflow\nname: w\nkind: pipeline\nstages:\n  - {%s}\n", line(key))
	case "workflow_stages_gate":
		return fmt.Sprintf("type: workflow\nname: w\nkind: pipeline\nstages:\n  - {name: s, gate: {%s}}\n", line(key))
	case "workflow_stages_gate_escalate":
		return fmt.Sprintf("type: workflow\nname: w\nkind: pipeline\nstages:\n  - {name: s, gate: {reviewers: [a], escalate: [{%s}]}}\n", line(key))
	case "tool_params_bash", "tool_params_http_fetch":
		return fmt.Sprintf("type: tool\nname: %s\nparams: {%s}\n", strings.TrimPrefix(name, "tool_params_"), line(key))
	case "tool_needs":
		return fmt.Sprintf("type: tool\nname: bash\nneeds: [{%s}]\n", line(key))
	case "tool":
		head = "name: bash\n"
	default:
		head = "name: n\n" + head
	}
	for l := range strings.Lines(head) { // the key itself is written once
		if k, _, _ := strings.Cut(l, ":"); k == key {
			head = strings.Replace(head, l, "", 1)
		}
	}
	if key == "old_keys" { // a mapping is what it can have
		return "type: " + name + "\n" + head + key + ": [1]\n"
	}
	return "type: " + name + "\n" + head + line(key) + "\n"
}

func TestTheSchemaIsThatOfADraftAndNamesEveryType(t *testing.T) {
	t.Parallel()
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"https://json-schema.org/draft/2020-12/schema"`, `"model"`, `"tool"`, `"permission_store"`, `"session_store"`, `"policy"`, `"agent"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the schema has no %s", want)
		}
	}
}
