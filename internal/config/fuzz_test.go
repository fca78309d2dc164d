package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse feeds the reader anything. It must end, panic at nothing, give either a configuration or
// mistakes with a place, and never print a secret.
func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("testdata/good/*.y*ml")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range seeds {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range []string{
		"", "---\n---\n", "a: b: c", "type: agent\nname: a\nmodel: ${K}\n", "type: &a [*a]\nname: *a\n", "? [a]\n: b\n",
		"type: model\nname: m\nprovider: openai\nmodel: x\napi_key: ${K}\nbase_url: ${K}\nparams: {<<: {a: 1}}\n",
		"type: policy\nname: p\nrules: [{match: \"bash(rm:*)\", decision: ask, timeout: 99999d, reviewers: [group:]}]\n",
		"type: tool\nname: bash\nparams: {a: !!binary x, b: 2020-01-01, c: 0x1F, d: 1e999, e: !!float x}\n", "\xff\xfe\x00", "%YAML 9.9\n---\n",
	} {
		f.Add([]byte(text))
	}
	const secret = "sk-very-secret-value"
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		c, err := parse([]source{{name: "c.yaml", data: data}}, func(string) (string, bool) { return secret, true })
		if (c == nil) == (err == nil) {
			t.Fatalf("parse gave %v and %v", c, err)
		}
		if err == nil {
			for _, s := range c.Specs {
				if _, ok := c.Model(s.Agent.Model); !ok {
					t.Errorf("agent %q refers to a model that is not there", s.Agent.Name)
				}
			}
			if _, err := c.Show().YAML(); err != nil {
				t.Errorf("what was read can't be shown: %v", err)
			}
			if printed := fmt.Sprintf("%v", c.Models); strings.Contains(printed, secret) && !strings.Contains(string(data), "params") &&
				strings.Count(string(data), "${") == strings.Count(string(data), "api_key: ${") {
				t.Errorf("a key was printed: %s", printed)
			}
			return
		}
		var wrong *Error
		if !errors.As(err, &wrong) || len(wrong.Problems) == 0 {
			t.Fatalf("the error has no problems: %v", err)
		}
		if strings.Contains(err.Error(), secret) && !strings.Contains(string(data), secret) {
			t.Errorf("a variable's value was printed: %v", err)
		}
		for _, p := range wrong.Problems {
			if p.Pos.Line < 1 || p.Text == "" {
				t.Errorf("a problem without a place or a text: %+v", p)
			}
		}
	})
}
