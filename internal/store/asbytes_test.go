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
func asText(t *testing.T, path, table, column string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	no(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), fmt.Sprintf(`SELECT DISTINCT %[2]s FROM %[1]s WHERE typeof(%[2]s) = 'blob'`, table, column))
	no(t, err)
	var values [][]byte
	for rows.Next() {
		var b []byte
		no(t, rows.Scan(&b))
		values = append(values, b)
	}
	no(t, rows.Err())
	for _, b := range values {
		text := hex.EncodeToString(b)
		if id, coded, sealed := bytes.Cut(b, []byte("\x00")); sealed && bytes.HasPrefix(id, []byte("sealed:")) {
			text = string(id) + base64.RawStdEncoding.EncodeToString(coded)
		} else if compress.Compressed(b) {
			if b[1] == 1 { // names its key, which texts never did
				continue
			}
			text = compress.Prefix + base64.RawStdEncoding.EncodeToString(b[1:])
		}
		_, err := db.ExecContext(t.Context(), fmt.Sprintf(`UPDATE %[1]s SET %[2]s = ? WHERE %[2]s = ?`, table, column), text, b)
		no(t, err)
		n++
	}
	return n
}

// written are the columns that have bytes.
var written = [][2]string{{"runs", "body"}, {"runs", "head_hash"}, {"steps", "body"}, {"turns", "result"}, {"calls", "body"}, {"interactions", "body"},
	{"events", "payload"}, {"events", "payload_hash"}, {"events", "hash"}, {"responses", "body"}, {"memories", "body"}, {"outbox", "body"}}

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
				changed += asText(t, cfg.DSN, w[0], w[1])
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
