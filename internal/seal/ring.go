// Package seal encrypts what others keep for us: AES-256-GCM under keys that have names, so that a key can be changed while
// what older ones have sealed stays readable. Codec does so for all that Temporal stores; the store is handed a Ring.
//
// Start at Load, which finds the keys, and Ring.
package seal

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// KeyBytes is the length of a key: AES-256's.
const KeyBytes = 32

// The variables that name the keys. Each holds, or leads to, lines or a comma-separated list of ID:BASE64, the key that seals
// first. At most one of them may be set.
const (
	EnvKeys    = "HOLDPOINT_ENCRYPTION_KEYS"         // the keys themselves
	EnvFile    = "HOLDPOINT_ENCRYPTION_KEYS_FILE"    // a file of them
	EnvCommand = "HOLDPOINT_ENCRYPTION_KEYS_COMMAND" // a command, without a shell, that prints them: how a KMS or a vault is asked
)

// MaxKeys bounds a ring.
const MaxKeys = 100

// commandTimeout bounds how long the command may take to print the keys.
const commandTimeout = 30 * time.Second

var keyID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Ring has the keys. Its zero value has none; it is safe for concurrent use.
type Ring struct {
	active string
	keys   map[string]cipher.AEAD
}

// ErrUnknownKey is what Open returns for what another's key has sealed.
var ErrUnknownKey = errors.New("seal: no key of that name")

// Load finds the keys in the environment. It returns nil where none are named.
func Load(ctx context.Context, getenv func(string) (string, bool)) (*Ring, error) {
	var set []string
	text := ""
	for _, name := range []string{EnvKeys, EnvFile, EnvCommand} {
		v, ok := getenv(name)
		if !ok || strings.TrimSpace(v) == "" {
			continue
		}
		set = append(set, name)
		var err error
		if text, err = keyText(ctx, name, v); err != nil {
			return nil, err
		}
	}
	switch len(set) {
	case 0:
		return nil, nil
	case 1:
		ring, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set[0], err)
		}
		return ring, nil
	default:
		return nil, fmt.Errorf("%s name keys: set one of them", strings.Join(set, " and "))
	}
}

func keyText(ctx context.Context, name, value string) (string, error) {
	switch name {
	case EnvFile:
		b, err := os.ReadFile(value)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		return string(b), nil
	case EnvCommand:
		ctx, cancel := context.WithTimeout(ctx, commandTimeout)
		defer cancel()
		args := strings.Fields(value)
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%s: %s: %w", name, args[0], err)
		}
		return out.String(), nil
	default:
		return value, nil
	}
}

// Parse reads keys, the one that seals first. Blank lines and lines that begin with # are left out. An error names the entry
// and never has a part of a key.
func Parse(text string) (*Ring, error) {
	ring := &Ring{keys: map[string]cipher.AEAD{}}
	n := 0
	for entry := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		entry = strings.TrimSpace(entry)
		if entry == "" || strings.HasPrefix(entry, "#") {
			continue
		}
		n++
		id, coded, ok := strings.Cut(entry, ":")
		if id = strings.TrimSpace(id); !ok || !keyID.MatchString(id) {
			return nil, fmt.Errorf("entry %d is no key: write ID:BASE64, the id of letters, digits, dots, dashes and underscores", n)
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(coded))
		if err != nil || len(key) != KeyBytes {
			return nil, fmt.Errorf("key %s must be %d bytes in base64, as `openssl rand -base64 32` prints", id, KeyBytes)
		}
		if err := ring.add(id, key); err != nil {
			return nil, err
		}
	}
	if ring.active == "" {
		return nil, errors.New("there is no key")
	}
	return ring, nil
}

// New makes a ring of one key.
func New(id string, key []byte) (*Ring, error) {
	ring := &Ring{keys: map[string]cipher.AEAD{}}
	if !keyID.MatchString(id) || len(key) != KeyBytes {
		return nil, fmt.Errorf("a key has a name and %d bytes", KeyBytes)
	}
	return ring, ring.add(id, key)
}

func (r *Ring) add(id string, key []byte) error {
	if _, twice := r.keys[id]; twice {
		return fmt.Errorf("key %s comes twice", id)
	}
	if len(r.keys) == MaxKeys {
		return fmt.Errorf("there are more than %d keys", MaxKeys)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return err
	}
	if r.keys[id] = aead; r.active == "" {
		r.active = id
	}
	return nil
}

// Active is the id of the key that seals.
func (r *Ring) Active() string { return r.active }

// Has reports whether there is a key of that id.
func (r *Ring) Has(id string) bool {
	_, ok := r.keys[id]
	return ok
}

// Seal encrypts plain under the active key, bound to where it belongs: only Open with the same place opens it.
func (r *Ring) Seal(plain []byte, place string) (id string, sealed []byte) {
	return r.active, r.keys[r.active].Seal(nil, nil, plain, []byte(place))
}

// Open decrypts what Seal returned. What was changed, or was sealed for another place, is an error.
func (r *Ring) Open(id string, sealed []byte, place string) ([]byte, error) {
	aead, ok := r.keys[id]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknownKey, id)
	}
	plain, err := aead.Open(nil, nil, sealed, []byte(place))
	if err != nil {
		return nil, fmt.Errorf("seal: what key %s sealed was changed, or belongs elsewhere", id)
	}
	return plain, nil
}

// NewKey returns a random key as Parse reads it.
func NewKey(id string) string {
	key := make([]byte, KeyBytes)
	_, _ = io.ReadFull(rand.Reader, key) // never fails; it ends the process where there is no randomness
	return id + ":" + base64.StdEncoding.EncodeToString(key)
}
