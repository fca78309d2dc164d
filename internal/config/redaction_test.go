package config_test

import (
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/config"
)

func TestNamesOfSecretsAreRead(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(write(t, "c.yaml", "type: redaction\nname: a\nfields: [pin, customer_number]\n---\ntype: redaction\nname: b\nfields: [badge]\n"), env(nil))
	if err != nil || !slices.Equal(cfg.Redacted, []string{"pin", "customer_number", "badge"}) {
		t.Errorf("read %q, %v", cfg.Redacted, err)
	}
	if _, err := config.Load(write(t, "c.yaml", "type: redaction\nname: a\nfields: [id]\n"), env(nil)); err == nil || !strings.Contains(err.Error(), `"id" is too short`) {
		t.Errorf("a name that most end with: %v", err)
	}
}

func TestEncryptionIsRead(t *testing.T) {
	t.Parallel()
	store := func(name, encryption string) string {
		return "type: session_store\nname: " + name + "\nstore_type: sqlite\ndsn: s.db\n" + encryption
	}
	for text, want := range map[string]config.Encryption{store("a", ""): config.EncryptionOff, store("a", "encryption: off\n"): config.EncryptionOff,
		store("a", "encryption: on\n"): config.EncryptionOn, store("a", "encryption: required\n") + "---\n" + store("b", "encryption: required\n"): config.EncryptionRequired} {
		cfg, err := config.Load(write(t, "c.yaml", text), env(nil))
		if err != nil || cfg.Encryption() != want {
			t.Errorf("%s: %q, %v", text, cfg.Encryption(), err)
		}
	}
	for text, want := range map[string]string{store("a", "encryption: yes\n"): "encryption", store("a", "encryption: on\n") + "---\n" + store("b", ""): "say the same"} {
		if _, err := config.Load(write(t, "c.yaml", text), env(nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
