package app

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/signing"
)

// SigningKey is what may be told of a bridge's signing key.
type SigningKey struct {
	ID, Root string // short names
	NotAfter time.Time
}

func signingKey(k *signing.Key) SigningKey {
	c := k.Certificate()
	return SigningKey{ID: interaction.KeyID(c.Key), Root: interaction.KeyID(k.Root()), NotAfter: c.NotAfter}
}

// ErrKeyThere is what CreateSigningKey returns where there is a file already.
var ErrKeyThere = errors.New("is there already")

// CreateSigningKey makes a bridge's signing key, and the root key where there is none yet.
func CreateSigningKey(rootFile, keyFile string, now time.Time, life time.Duration) (SigningKey, error) {
	if _, err := signing.Load(keyFile); !errors.Is(err, fs.ErrNotExist) {
		return SigningKey{}, fmt.Errorf("%s %w", keyFile, ErrKeyThere)
	}
	root, err := signing.LoadRoot(rootFile)
	if errors.Is(err, fs.ErrNotExist) {
		root, err = signing.CreateRoot(rootFile)
	}
	return issueKey(root, err, keyFile, now, life)
}

// RotateSigningKey makes another signing key in place of a bridge's, under the same root.
func RotateSigningKey(rootFile, keyFile string, now time.Time, life time.Duration) (SigningKey, error) {
	old, err := signing.Load(keyFile)
	if err != nil {
		return SigningKey{}, err
	}
	root, err := signing.LoadRoot(rootFile)
	if err == nil && !root.Public().Equal(old.Root()) {
		err = fmt.Errorf("%s is not the root of %s: the runs that wait would not trust the new key", rootFile, keyFile)
	}
	return issueKey(root, err, keyFile, now, life)
}

func issueKey(root *signing.Root, err error, keyFile string, now time.Time, life time.Duration) (SigningKey, error) {
	if err != nil {
		return SigningKey{}, err
	}
	k, err := root.Issue(now, life)
	if err == nil {
		err = k.Save(keyFile)
	}
	if err != nil {
		return SigningKey{}, err
	}
	return signingKey(k), nil
}

// ShowSigningKey reads a bridge's signing key.
func ShowSigningKey(keyFile string) (SigningKey, error) {
	k, err := signing.Load(keyFile)
	if err != nil {
		return SigningKey{}, err
	}
	return signingKey(k), nil
}
