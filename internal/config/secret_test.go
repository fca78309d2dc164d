package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"holdpoint/internal/config"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	c := loadGood(t)
	key := c.Models[0].APIKey
	if key.Reveal() != "sk-very-secret" {
		t.Fatalf("Reveal() = %q", key.Reveal())
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("loaded", "config", c, "key", key)
	printed := log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t", "%08.3f"} {
		printed += fmt.Sprintf(verb, key) + fmt.Sprintf(verb, c.Models) + fmt.Sprintf(verb, &key)
	}
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		b, err := marshal(map[string]any{"models": c.Models, "key": key})
		if err != nil {
			t.Fatal(err)
		}
		printed += string(b)
	}
	if strings.Contains(printed, "very-secret") || strings.Contains(printed, "766572792d736563726574") {
		t.Errorf("a secret was printed: %s", printed)
	}
	if got := fmt.Sprint(key, config.NewSecret("")); got != "******** " {
		t.Errorf("masked = %q", got)
	}
}
