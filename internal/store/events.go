package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
)

// saltBytes keeps a hash from telling what a short payload was once it is erased.
const saltBytes = 16

// AppendEvents numbers and chains the events under the run row's lock and returns the new head. An event whose
// key the run already has is left out. Without events it returns the head as it is.
//
// The events of a run that another run called join the stream of its root, whose row is locked after its own.
func (tx *Tx) AppendEvents(ctx context.Context, run interaction.RunID, events ...event.Event) (event.Head, error) {
	r, head, found, err := tx.LockRun(ctx, run)
	stream := run
	if err == nil && found && r.Root != "" {
		stream = r.Root
		_, head, found, err = tx.LockRun(ctx, stream)
	}
	if err != nil {
		return head, err
	}
	if !found {
		return head, in(ErrNotFound, "append events to run %s", stream)
	}
	tx.touched[run] = true
	end, err := tx.appendAfter(ctx, stream, run, head, events)
	if err != nil {
		return head, in(err, "append events to run %s", run)
	}
	return end, nil
}

func (tx *Tx) appendAfter(ctx context.Context, stream, run interaction.RunID, head event.Head, events []event.Event) (event.Head, error) {
	origin := ""
	if stream != run {
		origin = string(run)
	}
	known, err := tx.knownKeys(ctx, stream, origin, events)
	if err != nil {
		return head, err
	}
	end := head
	for i, e := range events {
		if e.Key != "" && known[e.Key] {
			continue
		}
		known[e.Key] = true
		if e, err = prepareEvent(run, e); err != nil {
			return head, fmt.Errorf("event %d of %d (%s): %w", i+1, len(events), events[i].Type, err)
		}
		e = event.Chain(end, e)
		if err := tx.insertEvent(ctx, stream, origin, e); err != nil {
			return head, fmt.Errorf("event %d (%s): %w", e.Number, e.Type, err)
		}
		end = event.Head{Number: e.Number, Hash: e.Hash}
	}
	if end == head {
		return head, nil
	}
	tx.touched[stream] = true
	return end, tx.update(ctx, `UPDATE runs SET head_number = ?, head_hash = ? WHERE id = ?`, end.Number, tx.sum(end.Hash), stream)
}

// knownKeys are those of the events' keys that the run has.
func (q queries) knownKeys(ctx context.Context, stream interaction.RunID, origin string, events []event.Event) (map[string]bool, error) {
	known := map[string]bool{}
	args := []any{stream}
	for _, e := range events {
		if e.Key == "" {
			continue
		}
		if err := checkID("event_key", e.Key); err != nil {
			return nil, err
		}
		args = append(args, streamKey(origin, e.Key))
	}
	if len(args) == 1 {
		return known, nil
	}
	keys, err := all(ctx, q, func(rows *sql.Rows) (k string, err error) { return k, rows.Scan(&k) },
		`SELECT event_key FROM events WHERE run_id = ? AND event_key IN (`+marks(len(args)-1)+`)`, args...)
	for _, k := range keys {
		known[strings.TrimPrefix(k, streamKey(origin, ""))] = true
	}
	return known, err
}

// streamKey is an event's key among those of its stream. Keys of different runs have nothing to do with one another.
func streamKey(origin, key string) string {
	if origin == "" {
		return key
	}
	return origin + "/" + key
}

// prepareEvent checks an event and brings it into the form in which it will be read back, so that it hashes alike.
func prepareEvent(run interaction.RunID, e event.Event) (event.Event, error) {
	if e.RunID != "" && e.RunID != run {
		return e, invalid("run_id", "it belongs to run %s", e.RunID)
	}
	if !e.Type.Valid() {
		return e, invalid("type", "%q is not an event type", e.Type)
	}
	if e.Type == event.StepDelta {
		return e, invalid("type", "a %s is live only and never stored", e.Type)
	}
	if e.Payload == nil {
		e.Payload = json.RawMessage("null")
	}
	if !json.Valid(e.Payload) {
		return e, invalid("payload", "it is not valid JSON")
	}
	e.RunID = run
	e.Time = e.Time.UTC().Truncate(time.Microsecond)
	e.Salt, e.Inner = make([]byte, saltBytes), ""
	rand.Read(e.Salt) // never fails: it ends the process instead
	return e, nil
}

func (q queries) insertEvent(ctx context.Context, stream interaction.RunID, origin string, e event.Event) error {
	salt, payload, err := q.encodePayload(stream, e)
	if err != nil {
		return err
	}
	return q.insert(ctx, `INSERT INTO events (run_id, origin, number, type, happened_at, event_key, salt, payload, payload_hash, hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		stream, origin, e.Number, string(e.Type), e.Time.UnixMicro(), sql.NullString{String: streamKey(origin, e.Key), Valid: e.Key != ""},
		salt, payload, q.sum(e.Inner), q.sum(e.Hash))
}

// encodePayload returns what is written of an event's salt and payload. Where bytes can be kept, the salt is the beginning of the
// payload, and has no value of its own.
func (q queries) encodePayload(stream interaction.RunID, e event.Event) (salt, payload any, err error) {
	if len(e.Payload) > MaxValueBytes {
		return nil, nil, tooLarge(eventPayload.what, len(e.Payload))
	}
	at, text := eventPayload.of(stream, e.Number), encodeRaw(e.Payload)
	if q.d.bytes {
		return nil, q.vault.put(at, saltText.EncodeToString(e.Salt)+text), nil
	}
	return q.vault.put(eventSalt.of(stream, e.Number), hex.EncodeToString(e.Salt)), q.vault.put(at, text), nil
}

// saltText spells a salt before a payload.
var saltText = base64.RawStdEncoding

// decodePayload is encodePayload undone. In databases from before there are salts of their own everywhere.
func (q queries) decodePayload(stream interaction.RunID, e *event.Event, salt sql.NullString, payload string) error {
	text, err := q.vault.open(eventPayload.of(stream, e.Number), payload)
	if err != nil {
		return unreadable(*e, "payload", err)
	}
	if salt.Valid {
		if e.Salt, err = q.openSalt(eventSalt.of(stream, e.Number), salt.String); err != nil {
			return unreadable(*e, "salt", err)
		}
	} else {
		e.Salt, text = cutSalt(text)
	}
	if e.Payload, err = decodeRaw(text); err != nil {
		return unreadable(*e, "payload", err)
	}
	return nil
}

// cutSalt takes the salt from before a payload. Text that begins with none was put there by somebody else: it is a payload whose
// hash is not that of the record.
func cutSalt(text string) (salt []byte, payload string) {
	n := saltText.EncodedLen(saltBytes)
	if len(text) < n {
		return nil, text
	}
	salt, err := saltText.DecodeString(text[:n])
	if err != nil {
		return nil, text
	}
	return salt, text[n:]
}

// sum is a hash, which is written in hex, as it is kept.
func (q queries) sum(hash string) any {
	if b, err := hex.DecodeString(hash); err == nil && q.d.bytes && len(b) == sha256.Size {
		return b
	}
	return hash
}

// sumText is sum undone, and what was written before there was sum is as it was.
func sumText(kept string) string {
	if len(kept) == sha256.Size {
		return hex.EncodeToString([]byte(kept))
	}
	return kept
}

// scanEvent reads an event back, Inner included, so that event.Verify also takes one whose payload was erased.
func (q queries) scanEvent(rows *sql.Rows) (e event.Event, err error) {
	var at int64
	var key, salt, payload sql.NullString
	var origin string
	if err := rows.Scan(&e.RunID, &origin, &e.Number, &e.Type, &at, &key, &salt, &payload, &e.Inner, &e.Hash); err != nil {
		return e, err
	}
	stream := e.RunID
	e.Inner, e.Hash = sumText(e.Inner), sumText(e.Hash)
	e.Time, e.Key = time.UnixMicro(at).UTC(), strings.TrimPrefix(key.String, streamKey(origin, ""))
	if origin != "" {
		e.RunID = interaction.RunID(origin)
	}
	if !payload.Valid {
		return e, nil
	}
	return e, q.decodePayload(stream, &e, salt, payload.String)
}

func (q queries) openSalt(c cell, text string) ([]byte, error) {
	text, err := q.vault.open(c, text)
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}

// unreadable is the error of an event that was not read back as it was written. Where the key is missing nothing is wrong
// with the event.
func unreadable(e event.Event, what string, err error) error {
	if errors.Is(err, ErrNoKey) {
		return fmt.Errorf("event %d has no readable %s here: %w", e.Number, what, err)
	}
	return fmt.Errorf("%w: event %d has no readable %s: %w", ErrTampered, e.Number, what, err)
}

const eventColumns = `run_id, origin, number, type, happened_at, event_key, salt, payload, payload_hash, hash`

func (q queries) events(ctx context.Context, run interaction.RunID, after int64, limit int) ([]event.Event, error) {
	return all(ctx, q, q.scanEvent, `SELECT `+eventColumns+`
		FROM events WHERE run_id = ? AND number > ? ORDER BY number LIMIT ?`, run, after, limit)
}

// ownEvents are those of a called run in the stream of its root.
func (q queries) ownEvents(ctx context.Context, run interaction.RunID, after int64, limit int) ([]event.Event, error) {
	return all(ctx, q, q.scanEvent, `SELECT `+eventColumns+`
		FROM events WHERE origin = ? AND origin <> '' AND number > ? ORDER BY number LIMIT ?`, run, after, limit)
}

// maxEvents bounds one read of a run's record.
const maxEvents = 1000

// Events returns a run's events after a number (0 for all), in order: at most limit, and never more than 1,000. A
// limit of 0 means 1,000. An erased event has no payload. Those of a run that another run called are numbered in the
// stream of its root, so there are numbers between them.
func (s *Store) Events(ctx context.Context, run interaction.RunID, after int64, limit int) ([]event.Event, error) {
	if limit <= 0 || limit > maxEvents {
		limit = maxEvents
	}
	var root string
	if _, err := s.read().one(ctx, `SELECT root_id FROM runs WHERE id = ?`, []any{run}, &root); err != nil {
		return nil, in(err, "read the events of run %s", run)
	}
	read := s.read().events
	if root != "" {
		read = s.read().ownEvents
	}
	events, err := read(ctx, run, after, limit)
	return events, in(err, "read the events of run %s", run)
}
