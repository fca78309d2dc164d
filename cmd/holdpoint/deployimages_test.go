package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// checkPrometheus reads its configuration as strictly as Prometheus does.
func checkPrometheus(t *testing.T) {
	t.Helper()
	var c struct {
		Global struct {
			Interval string `yaml:"scrape_interval"`
		}
		Jobs []struct {
			Name   string                       `yaml:"job_name"`
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	in := yaml.NewDecoder(strings.NewReader(deployFile(t, "prometheus/prometheus.yml")))
	in.KnownFields(true)
	if err := in.Decode(&c); err != nil || len(c.Jobs) != 2 {
		t.Errorf("prometheus.yml has %d jobs: %v", len(c.Jobs), err)
	}
}

// checkImages looks at what keeps the images static and without root, and at what they need at run time.
func checkImages(t *testing.T) {
	t.Helper()
	module, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(module))[1]
	stages := map[string]string{}
	for _, s := range regexp.MustCompile(`(?m)^FROM `).Split(deployFile(t, "Dockerfile"), -1)[1:] {
		first, rest, _ := strings.Cut(s, "\n")
		image, name, _ := strings.Cut(first, " AS ")
		stages[name] = "FROM " + image + "\n" + rest
	}
	owned := "COPY --from=build --chown=65532:65532 "
	for stage, lines := range map[string][]string{
		"build": {"FROM golang:" + version + "-", "RUN CGO_ENABLED=0 go build -trimpath ", "-X main.version=${VERSION}", " -o /out/holdpoint ./cmd/holdpoint\n", "RUN mkdir -p /out/data /out/tmp\n"},
		"bridge": {"FROM scratch\n", " /etc/ssl/certs/ca-certificates.crt\n", owned + "--chmod=1777 /out/tmp /tmp\n", owned + "/out/data /var/lib/holdpoint\n",
			"COPY --from=build /out/holdpoint /usr/local/bin/holdpoint\n", "ENTRYPOINT [\"/usr/local/bin/holdpoint\"]\n"},
		"worker": {"install -y --no-install-recommends bash ca-certificates git ", owned + "/out/data /var/lib/holdpoint\n", owned + "/out/data /workspace\n",
			"COPY --from=build /out/holdpoint /usr/local/bin/holdpoint\n", "ENTRYPOINT [\"/usr/local/bin/holdpoint\"]\n"},
	} {
		for _, l := range lines {
			if !strings.Contains(stages[stage], l) {
				t.Errorf("the stage %s has no %q", stage, l)
			}
		}
		if users := regexp.MustCompile(`(?m)^USER .*`).FindAllString(stages[stage], -1); stage != "build" && (len(users) != 1 || users[0] != "USER 65532:65532") {
			t.Errorf("the image %s runs as %q", stage, users)
		}
	}
}
