package secrets_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdpoint/internal/secrets"
)

func key(t *testing.T, fill byte) secrets.Key {
	t.Helper()
	k, err := secrets.ParseKey(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, secrets.KeyBytes)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestWhatIsSealedOpensAtItsPlaceOnly(t *testing.T) {
	t.Parallel()
	keys := secrets.New(key(t, 1))
	sealed, err := keys.Seal([]byte("here"), []byte("hunter22"))
	if err != nil || strings.Contains(sealed, "hunter22") {
		t.Fatalf("sealed as %q (%v)", sealed, err)
	}
	if again, _ := keys.Seal([]byte("here"), []byte("hunter22")); again == sealed {
		t.Error("the same secret looks the same twice")
	}
	if plain, err := keys.Open([]byte("here"), sealed); err != nil || string(plain) != "hunter22" {
		t.Errorf("opened as %q (%v)", plain, err)
	}
	id, body, _ := strings.Cut(sealed, ":")
	raw, _ := base64.StdEncoding.DecodeString(body)
	raw[len(raw)-1] ^= 1
	for what, other := range map[string]struct{ bound, sealed string }{
		"another place": {"there", sealed}, "changed": {"here", id + ":" + base64.StdEncoding.EncodeToString(raw)},
		"cut": {"here", id + ":AAAA"}, "no base64": {"here", id + ":%"}, "nothing": {"here", ""},
	} {
		if plain, err := keys.Open([]byte(other.bound), other.sealed); err == nil || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: opened as %q (%v)", what, plain, err)
		}
	}
}

func TestOldKeysOpenAndDigestAndNewOnesSeal(t *testing.T) {
	t.Parallel()
	before := secrets.New(key(t, 1))
	sealed, _ := before.Seal([]byte("here"), []byte("hunter22"))
	digest, _ := before.Digest([]byte("here"), []byte("hunter22"), "")
	after := secrets.New(key(t, 2), key(t, 1))
	if plain, err := after.Open([]byte("here"), sealed); err != nil || string(plain) != "hunter22" {
		t.Errorf("opened as %q (%v)", plain, err)
	}
	if same, err := after.Digest([]byte("here"), []byte("hunter22"), digest); err != nil || same != digest {
		t.Errorf("the digest is %q (%v), want %q", same, err, digest)
	}
	if other, _ := after.Digest([]byte("here"), []byte("hunter23"), digest); other == digest {
		t.Error("another value has the same digest")
	}
	if anew, _ := after.Seal([]byte("here"), []byte("x")); !strings.HasPrefix(anew, key(t, 2).ID()+":") {
		t.Errorf("sealed with another key than the current one: %s", anew)
	}
	alone := secrets.New(key(t, 2))
	if _, err := alone.Open([]byte("here"), sealed); err == nil || !strings.Contains(err.Error(), key(t, 1).ID()) || !strings.Contains(err.Error(), "old_keys") {
		t.Errorf("without the old key: %v", err)
	}
	if _, err := alone.Digest([]byte("here"), []byte("x"), digest); err == nil {
		t.Error("a digest with a key that is not there")
	}
}

func TestKeysThatAreNoneAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "too-short", base64.StdEncoding.EncodeToString([]byte("thirty-one bytes are not enough"))} {
		if _, err := secrets.ParseKey(text); err == nil || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAKeyIsMadeOnceAndForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for n := range ids {
		wg.Go(func() {
			k, err := secrets.LoadOrMake(path)
			if err != nil {
				t.Error(err)
			}
			ids[n] = k.ID()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("keys differ: %v", ids)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v (%v)", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.LoadOrMake(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a broken key: %v", err)
	}
}
