package signing_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/signing"
)

func TestKeysAreMadeSavedAndChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rootFile, keyFile := filepath.Join(dir, "root.key"), filepath.Join(dir, "bridge.key")
	root, err := signing.CreateRoot(rootFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signing.CreateRoot(rootFile); !errors.Is(err, os.ErrExist) {
		t.Errorf("a root was made over another: %v", err)
	}
	now := time.Now()
	trust := &interaction.Trust{Root: root.Public()}
	for range 2 { // the second is in place of the first
		again, err := signing.LoadRoot(rootFile)
		if err != nil {
			t.Fatal(err)
		}
		k, err := again.Issue(now, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Save(keyFile); err != nil {
			t.Fatal(err)
		}
		if k, err = signing.Load(keyFile); err != nil {
			t.Fatal(err)
		}
		signed, err := k.Sign(interaction.Response{RequestID: "i", Action: interaction.ActionApprove, RespondedAt: now.UTC()})
		if err != nil {
			t.Fatal(err)
		}
		if err := trust.Check(signed, nil, now); err != nil {
			t.Error(err)
		}
		if _, err := k.Sign(interaction.Response{RespondedAt: now.Add(2 * time.Hour)}); !errors.Is(err, signing.ErrExpired) {
			t.Errorf("an expired key signs: %v", err)
		}
		if _, err := k.Sign(interaction.Response{Data: []byte("{")}); err == nil {
			t.Error("what can't be encoded was signed")
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 2 {
		t.Errorf("files: %v, %v", left, err)
	}
}

func TestWhatIsNoKeyIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	make := func(root, key string) {
		r, err := signing.CreateRoot(path(root))
		if err != nil {
			t.Fatal(err)
		}
		k, err := r.Issue(time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Save(path(key)); err != nil {
			t.Fatal(err)
		}
	}
	make("root", "key")
	make("root2", "key2")
	read := func(name string) string {
		b, err := os.ReadFile(path(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	private, _, _ := strings.Cut(read("key"), "-----BEGIN HOLDPOINT")
	_, certificate, _ := strings.Cut(read("key2"), "-----END PRIVATE KEY-----\n")
	for name, body := range map[string]string{"empty": "", "text": "hello", "cut": read("key")[:60], "mixed": private + certificate,
		"no certificate": private, "broken": private + "-----BEGIN HOLDPOINT SIGNING CERTIFICATE-----\nAAAA\n-----END HOLDPOINT SIGNING CERTIFICATE-----\n",
		"of another kind": "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VuBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----\n",
		"no key":          "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "long": strings.Repeat("x", 70<<10)} {
		if err := os.WriteFile(path("wrong"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := signing.Load(path("wrong")); err == nil {
			t.Errorf("%s was taken for a bridge's key", name)
		}
	}
	if _, err := signing.LoadRoot(path("key")); err == nil || !strings.Contains(err.Error(), "root's file") {
		t.Errorf("a bridge's key was taken for a root: %v", err)
	}
	if _, err := signing.LoadRoot(path("none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a root that is not there: %v", err)
	}
	if err := os.Chmod(path("key"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := signing.Load(path("key")); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others may read was taken: %v", err)
	}
}
