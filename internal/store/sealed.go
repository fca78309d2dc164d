package store

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"

	"holdpoint/internal/store/compress"
)

// Keys seal what is written and open what is read. Values are bound to a place, and open nowhere else.
type Keys interface {
	// Active is the id of the key that seals.
	Active() string
	// Has reports whether there is a key of that id.
	Has(id string) bool
	Seal(plain []byte, place string) (id string, sealed []byte)
	Open(id string, sealed []byte, place string) ([]byte, error)
}

// Sealing says what is done with what a database is to keep from those who read it.
type Sealing string

const (
	// SealNothing writes in clear. What was sealed before is opened all the same.
	SealNothing Sealing = ""
	// SealOn seals what is written, and reads what is in clear from before.
	SealOn Sealing = "on"
	// SealRequired refuses to read what is in clear, too: it was not written by who has a key.
	SealRequired Sealing = "required"
)

// sealedColumn is a column whose values are sealed. Here and below stands all that decides which are.
type sealedColumn struct {
	table, name, what string
	key               []string // the columns that a value is bound to: those that say which row, and whose it is
}

// The sealed columns: whatever models, tools and people said, and what lets somebody in. Ids, states, times and the names
// of tools, agents and people stay in clear, since rows are found, ordered and counted by them.
var (
	runBody         = sealedColumn{"runs", "body", "run", []string{"id"}}
	agentBody       = sealedColumn{"agents", "body", "agent", []string{"digest"}}
	stepBody        = sealedColumn{"steps", "body", "step", []string{"id"}}
	turnResult      = sealedColumn{"turns", "result", "turn", []string{"run_id", "turn"}}
	callBody        = sealedColumn{"calls", "body", "call", []string{"id"}}
	executionBody   = sealedColumn{"executions", "body", "execution", []string{"call_id"}}
	interactionBody = sealedColumn{"interactions", "body", "interaction", []string{"id"}}
	responseBody    = sealedColumn{"responses", "body", "response", []string{"id"}}
	// The salt, too: with it, the hash of a payload would tell who guesses whether they are right.
	eventSalt    = sealedColumn{"events", "salt", "salt", []string{"run_id", "number"}}
	eventPayload = sealedColumn{"events", "payload", "payload", []string{"run_id", "number"}}
	ruleBody     = sealedColumn{"rules", "body", "rule", []string{"id", "user_id", "session_id"}}
	deltaText    = sealedColumn{"deltas", "content", "delta", []string{"run_id", "id"}}
	memoryBody   = sealedColumn{"memories", "body", "memory", []string{"run_id", "interaction_id"}}
	noticeBody   = sealedColumn{"outbox", "body", "notice", []string{"id"}}
	// With the hash: whoever exchanges it would be the principal of the body.
	tokenBody = sealedColumn{"tokens", "body", "token", []string{"id", "hash"}}
	indexKey  = sealedColumn{"sealing", "sealed", "key", []string{"name"}}
)

var sealedColumns = []sealedColumn{indexKey, runBody, agentBody, stepBody, turnResult, callBody, executionBody, interactionBody,
	responseBody, eventSalt, eventPayload, ruleBody, deltaText, memoryBody, noticeBody, tokenBody}

// cell is one value's place.
type cell struct {
	sealedColumn
	at []any
}

func (c sealedColumn) of(at ...any) cell { return cell{c, at} }

// kin is the id of the run to which a value's row belongs, where its key begins with one, and the key otherwise: the value is
// likely to name it. It says how a value was compressed, and so never changes.
func (c cell) kin() string {
	key := fmt.Sprint(c.at[0])
	if len(key) > uuidLength && uuid.Validate(key[:uuidLength]) == nil {
		return key[:uuidLength]
	}
	return key
}

const uuidLength = 36

// place is what a value is bound to. No key has a NUL.
func (c cell) place() string {
	var b strings.Builder
	b.WriteString("store " + c.table + "." + c.name)
	for _, v := range c.at {
		fmt.Fprintf(&b, "\x00%v", v)
	}
	return b.String()
}

func (c cell) String() string {
	return strings.ReplaceAll(strings.TrimPrefix(c.place(), "store "), "\x00", " ")
}

// namedColumn is a column of hashes of what is sealed elsewhere, by which rows are found again. Whoever can compute such a
// hash can try guesses, so they are kept hashed once more, with a key.
type namedColumn struct {
	table, name string
	rest        []string // what says which row, beside the name
}

var (
	memoryName = namedColumn{"memories", "call_key", []string{"run_id"}}
	resultName = namedColumn{"kept_results", "result_key", nil}
	ruleName   = namedColumn{"rules", "rule_key", []string{"id"}}
)

var namedColumns = []namedColumn{memoryName, resultName, ruleName}

const (
	// sealedPrefix begins a sealed value, and its key's id and a colon follow. No JSON begins so, and encodeRaw lets nothing, as with compressed ones.
	sealedPrefix = "sealed:"
	// unspelt follows the colon where the sealed bytes stand as they are.
	unspelt     = '\x00'
	namedPrefix = "keyed:"
)

// vault seals and opens the values of a database. A nil one does neither.
type vault struct {
	keys  Keys // nil where there are none
	mode  Sealing
	bytes bool   // the database's columns take any bytes
	index []byte // the key of names; nil where they are kept as they are
}

// seals reports whether what is written is sealed.
func (v *vault) seals() bool { return v != nil && v.mode != SealNothing }

// put is the form in which a value is written: compressed where that is shorter, and sealed. It is bytes where the database
// takes them and they are no text, else a string.
func (v *vault) put(c cell, text string) any {
	// The length of a sealed value tells how well the text could be compressed.
	switch {
	case v.seals() && v.bytes:
		id, sealed := v.keys.Seal(compress.Bytes(text, c.kin()), c.place())
		return slices.Concat([]byte(sealedPrefix+id+":"), []byte{unspelt}, sealed)
	case v.seals():
		id, sealed := v.keys.Seal(compress.Bytes(text, ""), c.place())
		return sealedPrefix + id + ":" + base64.RawStdEncoding.EncodeToString(sealed)
	case v != nil && v.bytes:
		if b := compress.Bytes(text, c.kin()); compress.Compressed(b) {
			return b
		}
		return text
	}
	return compress.Text(text)
}

// open is what put was given. No error is ever an empty value.
func (v *vault) open(c cell, text string) (string, error) {
	coded, sealed := strings.CutPrefix(text, sealedPrefix)
	if !sealed {
		if v != nil && v.mode == SealRequired {
			return "", fmt.Errorf("%w: %s: it was written beside Holdpoint, or before encryption was on: `holdpoint keys reseal` seals what is from before, with encryption: on", ErrClear, c)
		}
		if compress.Compressed([]byte(text)) {
			text, err := compress.FromBytes([]byte(text), c.kin())
			return text, tampered(c, err)
		}
		text, err := compress.FromText(text)
		return text, tampered(c, err)
	}
	id, coded, _ := strings.Cut(coded, ":")
	if v == nil || v.keys == nil || !v.keys.Has(id) {
		return "", &KeyError{Key: id, place: c.String()}
	}
	b, err := unspell(coded)
	if err == nil {
		b, err = v.keys.Open(id, b, c.place())
	}
	if err == nil {
		text, err = compress.FromBytes(b, c.kin())
	}
	if err != nil {
		return "", tampered(c, err)
	}
	return text, nil
}

// unspell returns the sealed bytes that follow a key's id, in base64 or as they are.
func unspell(coded string) ([]byte, error) {
	if raw, ok := strings.CutPrefix(coded, string(unspelt)); ok {
		return []byte(raw), nil
	}
	return base64.RawStdEncoding.DecodeString(coded)
}

// tampered is the error of a value that put did not write.
func tampered(c cell, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", ErrTampered, c, err)
}

// KeyError is the error of a value whose key is not there. It wraps ErrNoKey.
type KeyError struct {
	Key   string
	place string
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("%s is sealed with the key %q, %v: add it to HOLDPOINT_ENCRYPTION_KEYS, or the file or command in its place", e.place, e.Key, ErrNoKey)
}

// Unwrap makes it an ErrNoKey.
func (e *KeyError) Unwrap() error { return ErrNoKey }

var (
	// ErrNoKey is wrapped by the error of a read that came upon a value sealed with a key that this process has not.
	ErrNoKey = errors.New("which this process does not have")
	// ErrClear is wrapped by the error of a read that came upon a value in clear where that is not allowed.
	ErrClear = errors.New("the value is in clear, and encryption is required")
)

// names are the forms of a name: the one that is written, and those that were written before.
func (v *vault) names(c namedColumn, name string) []any {
	if v == nil || v.index == nil {
		return []any{name}
	}
	return []any{v.named(c, name), name}
}

func (v *vault) named(c namedColumn, name string) string {
	if v == nil || v.index == nil || strings.HasPrefix(name, namedPrefix) {
		return name
	}
	h := hmac.New(sha256.New, v.index)
	h.Write([]byte(c.table + "." + c.name + "\x00" + name))
	return namedPrefix + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// sealingTable makes version 18 of the schema: the key by which names are hashed, sealed with the keys of the configuration,
// which may change.
func sealingTable(collate string) *goose.Migration {
	return goose.NewGoMigration(18, &goose.GoFunc{RunTx: execAll(fmt.Sprintf(
		`CREATE TABLE sealing (name TEXT %s NOT NULL PRIMARY KEY, sealed TEXT NOT NULL)`, collate))}, nil)
}

const indexName = "index"

// openVault finds the key of names, or makes it. A database that was sealed once is opened by who has its key alone, so
// that a process without it says so when it starts.
func (s *Store) openVault(ctx context.Context) error {
	v := &vault{keys: s.cfg.Keys, mode: s.cfg.Sealing, bytes: s.dialect.bytes}
	s.vault = v
	text, found, err := s.indexKey(ctx)
	if err == nil && !found {
		err = s.nothingKeyed(ctx)
	}
	if err == nil && !found && v.seals() {
		fresh := make([]byte, sha256.Size)
		_, _ = rand.Read(fresh) // never fails
		err = s.Write(ctx, func(tx *Tx) error {
			_, err := tx.exec(ctx, `INSERT INTO sealing (name, sealed) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`,
				indexName, v.put(indexKey.of(indexName), base64.RawStdEncoding.EncodeToString(fresh)))
			return err
		})
		if err == nil { // another process may have been faster
			text, found, err = s.indexKey(ctx)
		}
	}
	if err == nil && found {
		if text, err = v.open(indexKey.of(indexName), text); err == nil {
			v.index, err = base64.RawStdEncoding.DecodeString(text)
		}
	}
	return in(err, "open what is sealed in %s", s.name())
}

// nothingKeyed refuses a database that has names hashed with a key, and not the key: under another none of them would be
// found again.
func (s *Store) nothingKeyed(ctx context.Context) error {
	for _, c := range namedColumns {
		var n int
		_, err := s.read().one(ctx, `SELECT COUNT(*) FROM `+c.table+` WHERE `+c.name+` >= ? AND `+c.name+` < ?`,
			[]any{namedPrefix, strings.TrimSuffix(namedPrefix, ":") + ";"}, &n)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%w: %s.%s is hashed with a key that the table sealing does not have any more: restore it from a backup", ErrTampered, c.table, c.name)
		}
	}
	return nil
}

func (s *Store) indexKey(ctx context.Context) (text string, found bool, err error) {
	found, err = s.read().one(ctx, `SELECT sealed FROM sealing WHERE name = ?`, []any{indexName}, &text)
	return text, found, err
}
