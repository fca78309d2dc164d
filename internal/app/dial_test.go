package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Not parallel: the settings of Temporal are those of the process.
func TestAMisspeltKeyOfTemporalsProfileFileIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.toml")
	for _, name := range []string{"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_PROFILE"} {
		t.Setenv(name, "") // puts back what was there
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", file)
	for text, wrong := range map[string]string{
		"[profile.default]\naddress = \"127.0.0.1:7233\"\nnamespace = \"agents\"\n": "",
		"[profile.default]\naddress = \"127.0.0.1:7233\"\nnamespce = \"agents\"\n":  "namespce",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		switch o, err := connection(); {
		case wrong == "" && (err != nil || o.Namespace != "agents"):
			t.Errorf("%s: %q, %v", text, o.Namespace, err)
		case wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)):
			t.Errorf("%s: %v", text, err)
		}
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", file+".not")
	if _, err := connection(); err == nil || !strings.Contains(err.Error(), "TEMPORAL_CONFIG_FILE") || !strings.Contains(err.Error(), file+".not") {
		t.Errorf("of a file that is not there: %v", err)
	}
}
