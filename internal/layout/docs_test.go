package layout_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest    = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
	declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	namedMetric  = regexp.MustCompile(`\b(?:holdpoint|temporal)_[a-z_]+[a-z]\b`)
	ownMetric    = regexp.MustCompile(`(count|time|Int64ObservableGauge)\((?:&m\.\w+, )?"(holdpoint\.[a-z_.]+)"`)
	sdkMetric    = regexp.MustCompile(`TemporalMetricsPrefix \+ "([a-z_]+)"`)
	sdkSuffix    = regexp.MustCompile(`_(failure|attempt)$`)
)

// TestTheThreatModelNamesTestsThatExist keeps a defence from being claimed by a test that was renamed or removed.
func TestTheThreatModelNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	var text []byte
	declared := map[string]bool{}
	for _, f := range files(t) {
		if f.name == "docs/security.md" {
			text = f.text
		}
		if strings.HasSuffix(f.name, "_test.go") {
			for _, m := range declaredTest.FindAllSubmatch(f.text, -1) {
				declared[string(m[1])] = true
			}
		}
	}
	named := namedTest.FindAllSubmatch(text, -1)
	if len(named) < 60 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, m := range named {
		if !declared[string(m[1])] {
			t.Errorf("docs/security.md names %s, which is no test", m[1])
		}
	}
}

// TestTheMetricsThatDocumentsNameExist takes our own from where they are made, and Temporal's from its SDK's source.
func TestTheMetricsThatDocumentsNameExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	own, err := os.ReadFile(filepath.Join(root(t), "internal", "telemetry", "metrics.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ownMetric.FindAllSubmatch(own, -1) {
		name := strings.ReplaceAll(string(m[2]), ".", "_")
		switch string(m[1]) {
		case "count":
			name += "_total"
		case "time":
			name += "_seconds"
		}
		known[name] = true
	}
	if len(known) < 8 {
		t.Fatalf("only %d metrics of our own were found", len(known))
	}
	sdk, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.temporal.io/sdk").Output()
	if err != nil {
		t.Fatal(err)
	}
	constants, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(sdk)), "internal", "common", "metrics", "constants.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range sdkMetric.FindAllSubmatch(constants, -1) {
		known["temporal_"+string(m[1])] = true
		known["temporal_"+strings.ReplaceAll(string(m[1]), "_total", "")] = true // the exporter puts a counter's "total" at its end
	}
	for _, name := range []string{"operations.md", "deploy.md"} {
		text, err := os.ReadFile(filepath.Join(root(t), "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, metric := range namedMetric.FindAllString(string(text), -1) {
			base := strings.TrimSuffix(metric, "_total")
			if !known[metric] && !(strings.HasPrefix(metric, "temporal_") && (known[base] || known[sdkSuffix.ReplaceAllString(base, "")])) {
				t.Errorf("docs/%s names the metric %s, which is none", name, metric)
			}
		}
	}
}
