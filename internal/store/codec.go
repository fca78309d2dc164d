package store

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/store/compress"
	"holdpoint/tool"
)

// rawPrefix marks text that a database could not hold as it is. No JSON begins with it.
const rawPrefix = "base64:"

// encodeRaw returns text that decodeRaw turns back into exactly b, whatever b is. PostgreSQL takes neither NUL nor
// text that is not UTF-8, so such bytes are written in base64.
func encodeRaw(b []byte) string {
	if text := string(b); storable(text) && !strings.HasPrefix(text, rawPrefix) && !strings.HasPrefix(text, sealedPrefix) && !compress.Begins(text) {
		return text
	}
	return rawPrefix + base64.StdEncoding.EncodeToString(b)
}

func decodeRaw(s string) ([]byte, error) {
	coded, ok := strings.CutPrefix(s, rawPrefix)
	if !ok {
		return []byte(s), nil
	}
	return base64.StdEncoding.DecodeString(coded)
}

// encodeBytes returns the form in which bytes are written to a cell: encodeRaw's, sealed, with the limit on size.
func (q queries) encodeBytes(c cell, b []byte) (any, error) {
	if len(b) > MaxValueBytes {
		return nil, tooLarge(c.what, len(b))
	}
	return q.vault.put(c, encodeRaw(b)), nil
}

func (q queries) decodeBytes(c cell, text string) ([]byte, error) {
	text, err := q.vault.open(c, text)
	if err != nil {
		return nil, err
	}
	return decodeRaw(text)
}

// encode returns the form in which a record is written to a cell: its JSON, sealed.
func (q queries) encode(c cell, v any) (any, error) {
	text, err := toJSON(c.what, v)
	if err != nil {
		return nil, err
	}
	return q.vault.put(c, text), nil
}

// toJSON returns the JSON form of a record.
func toJSON(what string, v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("%s can't be written as JSON: %w", what, err)
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
	if b.Len() > MaxValueBytes {
		return "", tooLarge(what, b.Len())
	}
	return b.String(), nil
}

// decode reads a record back from its cell.
func decode[T any](q queries, c cell, body string) (v T, err error) {
	if body, err = q.vault.open(c, body); err != nil {
		return v, err
	}
	return fromJSON[T](body)
}

func fromJSON[T any](body string) (v T, err error) {
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return v, fmt.Errorf("the stored JSON can't be read: %w", err)
	}
	return v, nil
}

// pack makes a JSON string of raw JSON. encoding/json would compact raw JSON inside a record, and a digest of it
// would no longer hold; a string it leaves alone.
func pack(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	b, err := json.Marshal(encodeRaw(raw))
	if err != nil { // a string always has a JSON form
		return nil
	}
	return b
}

func unpack(raw *json.RawMessage) error {
	if *raw == nil || bytes.Equal(*raw, []byte("null")) {
		*raw = nil
		return nil
	}
	var s string
	if err := json.Unmarshal(*raw, &s); err != nil {
		return fmt.Errorf("the stored JSON value can't be read: %w", err)
	}
	b, err := decodeRaw(s)
	*raw = b
	return err
}

func unpackAll(raws ...*json.RawMessage) error {
	for _, r := range raws {
		if err := unpack(r); err != nil {
			return err
		}
	}
	return nil
}

func packResponse(r interaction.Response) interaction.Response {
	r.Args, r.Data = pack(r.Args), pack(r.Data)
	r.Responses = packEach(r.Responses, packResponse)
	return r
}

func unpackResponse(r *interaction.Response) error {
	if err := unpackAll(&r.Args, &r.Data); err != nil {
		return err
	}
	return unpackEach(r.Responses, unpackResponse)
}

func packRequest(r interaction.Request) interaction.Request {
	r.ToolArgs = pack(r.ToolArgs)
	r.Interactions = packEach(r.Interactions, packRequest)
	return r
}

func unpackRequest(r *interaction.Request) error {
	if err := unpack(&r.ToolArgs); err != nil {
		return err
	}
	return unpackEach(r.Interactions, unpackRequest)
}

func packRecord(r tool.Record) tool.Record {
	r.Call.Args, r.Decision, r.Edited = pack(r.Call.Args), pack(r.Decision), pack(r.Edited)
	if r.Call.Answer != nil {
		a := packResponse(*r.Call.Answer)
		r.Call.Answer = &a
	}
	return r
}

func unpackRecord(r *tool.Record) error {
	if err := unpackAll(&r.Call.Args, &r.Decision, &r.Edited); err != nil {
		return err
	}
	if r.Call.Answer != nil {
		return unpackResponse(r.Call.Answer)
	}
	return nil
}

// packEach returns a new slice: the caller's values are not touched.
func packEach[T any](in []T, f func(T) T) []T {
	if in == nil {
		return nil
	}
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

func unpackEach[T any](in []T, f func(*T) error) error {
	for i := range in {
		if err := f(&in[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkID refuses an identifier that a database could not keep or compare.
func checkID[T ~string](field string, id T) error {
	switch {
	case id == "":
		return invalid(field, "it is empty")
	case len(id) > maxIDBytes:
		return invalid(field, "%d bytes are too long for an id: use at most %d", len(id), maxIDBytes)
	case !storable(string(id)):
		return invalid(field, "an id is UTF-8 text without NUL")
	}
	return nil
}

// checkKey refuses a text that is looked up by an index and is too long for one.
func checkKey[T ~string](field string, s T) error {
	if n := len(column(s)); n > maxIDBytes {
		return invalid(field, "%d bytes are too long: use at most %d", n, maxIDBytes)
	}
	return nil
}

// column is the form of a text by which rows are looked up; the text itself is in the body.
func column[T ~string](s T) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(s), "\uFFFD"), "\x00", "\uFFFD")
}

// micros is a time as it is stored; a zero time is NULL.
func micros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// bodyOf is the row scanner for a query that selects an id and the body that is bound to it.
func bodyOf[T any](q queries, c sealedColumn) func(*sql.Rows) (T, error) {
	return func(rows *sql.Rows) (v T, err error) {
		var id, body string
		if err := rows.Scan(&id, &body); err != nil {
			return v, err
		}
		return decode[T](q, c.of(id), body)
	}
}
