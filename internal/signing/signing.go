// Package signing keeps the keys by which a bridge signs the answers that it forwards: a root key, which stays away from the
// bridge and whose public half each run carries in its input, and signing keys, which the root certifies for a while.
//
// Start at CreateRoot and Root.Issue, which make keys, and Load, which a bridge reads its own with.
package signing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"holdpoint/interaction"
)

// The PEM blocks of the files: a root file has the first, a bridge's file has both.
const (
	privateBlock     = "PRIVATE KEY" // PKCS #8, as openssl reads it
	certificateBlock = "HOLDPOINT SIGNING CERTIFICATE"
)

// maxFileBytes bounds a key file.
const maxFileBytes = 64 << 10

// skew is how much earlier than its making a key may be used: clocks differ.
const skew = 5 * time.Minute

// Root certifies signing keys.
type Root struct{ private ed25519.PrivateKey }

// Key signs answers.
type Key struct {
	private     ed25519.PrivateKey
	root        ed25519.PublicKey
	certificate interaction.Certificate
}

// issued is what the certificate block has.
type issued struct {
	Root        []byte                  `json:"root"`
	Certificate interaction.Certificate `json:"certificate"`
}

// CreateRoot makes a root key and its file, which must not be there yet.
func CreateRoot(path string) (*Root, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	block, err := privatePEM(private)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(block)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &Root{private}, nil
}

// LoadRoot reads a root key.
func LoadRoot(path string) (*Root, error) {
	private, rest, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("%s has more than a private key: name the root's file, not the bridge's", path)
	}
	return &Root{private}, nil
}

// Public is what runs trust.
func (r *Root) Public() ed25519.PublicKey { return r.private.Public().(ed25519.PublicKey) }

// Issue makes a signing key that is good from now on for so long.
func (r *Root) Issue(now time.Time, life time.Duration) (*Key, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	now = now.UTC().Truncate(time.Second)
	c := interaction.Certificate{Key: public, NotBefore: now.Add(-skew), NotAfter: now.Add(life)}
	c.Value = ed25519.Sign(r.private, c.SignedBytes())
	return &Key{private: private, root: r.Public(), certificate: c}, nil
}

// Save writes a signing key to its file, in place of one that is there, whole or not at all.
func (k *Key) Save(path string) error {
	block, err := privatePEM(k.private)
	if err != nil {
		return err
	}
	body, err := json.Marshal(issued{Root: k.root, Certificate: k.certificate})
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".signing-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(block, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: body})...))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Load reads a bridge's signing key.
func Load(path string) (*Key, error) {
	private, rest, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(rest)
	if block == nil || block.Type != certificateBlock {
		return nil, fmt.Errorf("%s has no certificate: it must be the file that `holdpoint keys create` wrote for the bridge, not the root's", path)
	}
	var i issued
	if err := json.Unmarshal(block.Bytes, &i); err != nil {
		return nil, fmt.Errorf("%s: the certificate can't be read: %w", path, err)
	}
	k := &Key{private: private, root: i.Root, certificate: i.Certificate}
	if len(i.Root) != ed25519.PublicKeySize || !bytes.Equal(private.Public().(ed25519.PublicKey), i.Certificate.Key) ||
		!ed25519.Verify(k.root, i.Certificate.SignedBytes(), i.Certificate.Value) {
		return nil, fmt.Errorf("%s: the certificate is not of this key, or not of its root: make the file anew with `holdpoint keys rotate`", path)
	}
	return k, nil
}

// ErrExpired is what Sign returns once the key may not be used any more.
var ErrExpired = errors.New("the signing key has expired: make another with `holdpoint keys rotate`, and restart the bridge")

// Sign signs a response. It must have its time.
func (k *Key) Sign(r interaction.Response) (interaction.Response, error) {
	if r.RespondedAt.After(k.certificate.NotAfter) {
		return r, ErrExpired
	}
	signed, err := r.SignedBytes()
	if err != nil {
		return r, err
	}
	r.Signature = &interaction.Signature{Certificate: k.certificate, Value: ed25519.Sign(k.private, signed)}
	return r, nil
}

// Root is the public key that runs trust.
func (k *Key) Root() ed25519.PublicKey { return k.root }

// Certificate tells from when to when the key is good.
func (k *Key) Certificate() interaction.Certificate { return k.certificate }

func privatePEM(k ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}), nil
}

// readPrivate reads the private key at the beginning of a file that nobody else may read, and returns what follows it.
func readPrivate(path string) (ed25519.PrivateKey, []byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, nil, fmt.Errorf("%s may be read by others (%s): chmod 600 it", path, info.Mode().Perm())
	}
	if !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return nil, nil, fmt.Errorf("%s is no key file", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	block, rest := pem.Decode(data)
	if block == nil || block.Type != privateBlock {
		return nil, nil, fmt.Errorf("%s has no private key at its beginning", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the private key can't be read: %w", path, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, nil, fmt.Errorf("%s has a key of another kind: Ed25519 is needed", path)
	}
	return private, rest, nil
}
