package store_test

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"testing"

	"holdpoint/internal/store"
	"holdpoint/internal/store/compress"
)

// asText writes the bytes of a column as they were written when every value was text, and returns how many there were.
func asText(t *testing.T, path string, w [3]string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	no(t, err)
	defer db.Close()
	table, column, key := w[0], w[1], w[2]
	rows, err := db.QueryContext(t.Context(), fmt.Sprintf(`SELECT %[3]s, %[2]s FROM %[1]s WHERE typeof(%[2]s) = 'blob'`, table, column, key))
	no(t, err)
	type row struct {
		key   string
		value []byte
	}
	var values []row
	for rows.Next() {
		var r row
		no(t, rows.Scan(&r.key, &r.value))
		values = append(values, r)
	}
	no(t, rows.Err())
	for _, r := range values {
		text := hex.EncodeToString(r.value)
		if id, coded, sealed := bytes.Cut(r.value, []byte("\x00")); sealed && bytes.HasPrefix(id, []byte("sealed:")) {
			text = string(id) + base64.RawStdEncoding.EncodeToString(coded)
		} else if compress.Compressed(r.value) {
			plain, err := compress.FromBytes(r.value, r.key)
			no(t, err)
			text = compress.Text(plain)
		}
		_, err := db.ExecContext(t.Context(), fmt.Sprintf(`UPDATE %[1]s SET %[2]s = ? WHERE %[3]s = ? AND %[2]s = ?`, table, column, key), text, r.key, r.value)
		no(t, err)
		n++
	}
	return n
}

// written are the columns that have bytes, and what they were compressed beside.
var written = [][3]string{{"runs", "body", "id"}, {"runs", "head_hash", "id"}, {"steps", "body", "id"}, {"turns", "result", "run_id"}, {"calls", "body", "id"},
	{"interactions", "body", "id"}, {"events", "payload", "run_id"}, {"events", "payload_hash", "run_id"}, {"events", "hash", "run_id"},
	{"responses", "body", "id"}, {"memories", "body", "run_id"}, {"outbox", "body", "id"}}

func TestWhatWasWrittenAsTextIsReadBesideBytes(t *testing.T) {
	t.Parallel()
	for kind, cfg := range map[string]store.Config{"clear": {}, "sealed": sealed(store.Config{}, firstKey)} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cfg.DSN = t.TempDir() + "/x.db"
			s := open(t, cfg)
			every(t, s)
			want, err := readEverything(t, s)
			no(t, err)
			no(t, s.Close())

			changed := 0
			for _, w := range written {
				changed += asText(t, cfg.DSN, w)
			}
			if changed == 0 {
				t.Error("no value was bytes")
			}
			s = open(t, cfg)
			if got, err := readEverything(t, s); err != nil || got != want {
				t.Errorf("%v\n got %s\nwant %s", err, got, want)
			}
		})
	}
}
