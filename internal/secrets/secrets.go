// Package secrets encrypts what people answer in confidence, so that a database, and whoever reads it, has only what a key
// opens.
//
// Start at New and LoadOrMake. Each value is bound to the place that it was given for: moved elsewhere, it does not open.
package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeyBytes is the length of a key.
const KeyBytes = 32

// Key is one key. Its id is not secret.
type Key struct {
	id   string
	aead cipher.AEAD
	mac  []byte
}

// ID names the key in what it encrypted.
func (k Key) ID() string { return k.id }

// ParseKey reads a key: the base64 of 32 bytes. Nothing in the error is taken from the text.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if b, err := encoding.DecodeString(text); err == nil && len(b) == KeyBytes {
			return newKey(b)
		}
	}
	return Key{}, fmt.Errorf("is no key: it must be %d bytes in base64, such as `openssl rand -base64 %d` makes", KeyBytes, KeyBytes)
}

func newKey(raw []byte) (Key, error) {
	sub := func(purpose string, n int) ([]byte, error) {
		return hkdf.Key(sha256.New, raw, nil, "holdpoint secrets "+purpose, n)
	}
	id, err := sub("id", 6)
	if err != nil {
		return Key{}, fmt.Errorf("deriving keys: %w", err)
	}
	seal, err := sub("encryption", 32)
	if err != nil {
		return Key{}, fmt.Errorf("deriving keys: %w", err)
	}
	mac, err := sub("digest", 32)
	if err != nil {
		return Key{}, fmt.Errorf("deriving keys: %w", err)
	}
	block, err := aes.NewCipher(seal)
	if err != nil {
		return Key{}, fmt.Errorf("making a cipher: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return Key{}, fmt.Errorf("making a cipher: %w", err)
	}
	return Key{id: hex.EncodeToString(id), aead: aead, mac: mac}, nil
}

// Keys encrypts with its first key and decrypts with any.
type Keys struct{ all []Key }

// New returns the keys: current encrypts, old ones only decrypt.
func New(current Key, old ...Key) *Keys { return &Keys{append([]Key{current}, old...)} }

func (k *Keys) find(id string) (Key, error) {
	for _, key := range k.all {
		if key.id == id {
			return key, nil
		}
	}
	return Key{}, fmt.Errorf("it was encrypted with the key %s, which is not configured here: add that one to old_keys of the component of type secrets", id)
}

// Seal encrypts plain, bound to a place.
func (k *Keys) Seal(bound, plain []byte) (string, error) {
	key := k.all[0]
	nonce := make([]byte, key.aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return "", fmt.Errorf("no random numbers: %w", err)
	}
	return key.id + ":" + base64.StdEncoding.EncodeToString(key.aead.Seal(nonce, nonce, plain, bound)), nil
}

// Open decrypts what Seal returned for the same place.
func (k *Keys) Open(bound []byte, sealed string) ([]byte, error) {
	id, text, _ := strings.Cut(sealed, ":")
	key, err := k.find(id)
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) < key.aead.NonceSize() {
		return nil, errors.New("it is not stored as it was encrypted")
	}
	plain, err := key.aead.Open(nil, raw[:key.aead.NonceSize()], raw[key.aead.NonceSize():], bound)
	if err != nil {
		return nil, errors.New("it is not what was encrypted for this place")
	}
	return plain, nil
}

// Digest stands for plain at a place: equal for equal values, and of no use to who guesses without the key. like, another
// digest or "", says with which key.
func (k *Keys) Digest(bound, plain []byte, like string) (string, error) {
	key := k.all[0]
	if id, _, _ := strings.Cut(like, ":"); id != "" {
		var err error
		if key, err = k.find(id); err != nil {
			return "", err
		}
	}
	h := hmac.New(sha256.New, key.mac)
	fmt.Fprintf(h, "%d:%s", len(bound), bound)
	h.Write(plain)
	return key.id + ":" + hex.EncodeToString(h.Sum(nil)), nil
}

// LoadOrMake reads the key in a file that only its owner may read, or makes one there.
func LoadOrMake(path string) (Key, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = create(path); err == nil || errors.Is(err, fs.ErrExist) { // another process may be faster
			text, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return Key{}, fmt.Errorf("the key for secrets: %w", err)
	}
	key, err := ParseKey(string(text))
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// create writes a new key, whole or not at all.
func create(path string) error {
	raw := make([]byte, KeyBytes)
	if _, err := rand.Read(raw); err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(path), ".secret-key-*") // for its owner alone
	if err != nil {
		return err
	}
	_, err = draft.WriteString(base64.StdEncoding.EncodeToString(raw) + "\n")
	err = errors.Join(err, draft.Sync(), draft.Close())
	if err == nil {
		err = os.Link(draft.Name(), path)
	}
	return errors.Join(err, os.Remove(draft.Name()))
}
