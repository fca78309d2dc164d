package app

import (
	"context"
	"errors"

	"holdpoint/internal/store"
)

// Resealed is what Reseal did, and KeyUse how much is sealed under one key.
type (
	Resealed = store.Resealed
	KeyUse   = store.KeyUse
)

// Reseal brings what the database of a configuration keeps under the key that seals, beside whatever runs. tell hears of
// its progress.
func Reseal(ctx context.Context, o Options, tell func(Resealed)) (out Resealed, err error) {
	s, closing, err := openStore(ctx, o.orDev())
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, closing()) }()
	return s.Reseal(ctx, tell)
}

// KeysInUse counts what the database of a configuration keeps by the keys that sealed it.
func KeysInUse(ctx context.Context, o Options) (out []KeyUse, err error) {
	s, closing, err := openStore(ctx, o.orDev())
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, closing()) }()
	return s.KeysInUse(ctx)
}
