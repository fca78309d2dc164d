package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// resealBatch is how many values are sealed anew in one transaction. Each may have MaxValueBytes.
const resealBatch = 20

// Resealed is what Reseal did.
type Resealed struct {
	// Key is the id of the key under which everything is that it could open.
	Key string `json:"key"`
	// Values were sealed anew, and Names hashed with a key, by this call.
	Values int64 `json:"values"`
	Names  int64 `json:"names"`
	// Missing counts values that stayed as they are, by the id of the key that is not there.
	Missing map[string]int64 `json:"missing,omitempty"`
	// Broken names values that were changed or moved, and those in clear where encryption is required: to seal one would be
	// to vouch for it. At most a hundred.
	Broken []string `json:"broken,omitempty"`
}

// maxBroken bounds Resealed.Broken.
const maxBroken = 100

// Reseal seals under the active key what is in clear or under other keys, a few rows in each transaction, beside whatever
// else reads and writes: a row that changes meanwhile is left to the next look. It ends once a look over everything finds
// nothing more to do; tell hears of each batch. Stopped halfway, it goes on where it was when it is called again. The record's hash chains are of
// what was said, and so do not change.
func (s *Store) Reseal(ctx context.Context, tell func(Resealed)) (out Resealed, err error) {
	if !s.vault.seals() {
		return out, errors.New("store: nothing is sealed here: write encryption: on at the session store, and restart workers and bridges, first (docs/security.md)")
	}
	out.Key = s.vault.keys.Active()
	for {
		before := out.Values + out.Names
		out.Missing, out.Broken = map[string]int64{}, nil
		for _, c := range sealedColumns {
			if err := s.resealColumn(ctx, c, &out, tell); err != nil {
				return out, in(err, "reseal %s.%s", c.table, c.name)
			}
		}
		for _, c := range namedColumns {
			if err := s.renameColumn(ctx, c, &out); err != nil {
				return out, in(err, "reseal %s.%s", c.table, c.name)
			}
		}
		if out.Values+out.Names == before {
			return out, s.settle(ctx)
		}
	}
}

// settle has what was overwritten leave the files of the database, as far as it is ours to say.
func (s *Store) settle(ctx context.Context) error {
	if s.dialect.settle == "" {
		return nil
	}
	_, err := s.writer.ExecContext(ctx, s.dialect.settle)
	return in(err, "settle %s", s.name())
}

// old is a value that is to be sealed anew, a string or bytes.
type old struct {
	at    []any
	value any
}

// text is the value as vault.open takes it.
func (o old) text() string {
	if b, ok := o.value.([]byte); ok {
		return string(b)
	}
	text, _ := o.value.(string) // no column has anything else
	return text
}

func (s *Store) resealColumn(ctx context.Context, c sealedColumn, out *Resealed, tell func(Resealed)) error {
	current := sealedPrefix + s.vault.keys.Active() + ":"
	keys := strings.Join(c.key, ", ")
	var after []any
	for {
		var w where
		w.add(c.name+" IS NOT NULL AND "+fmt.Sprintf(s.dialect.start, c.name, "?")+" <> ?", len(current), current)
		if after != nil {
			w.add("("+keys+") > ("+marks(len(after))+")", after...)
		}
		batch, err := all(ctx, s.read(), scanOld(len(c.key)), `SELECT `+keys+`, `+c.name+` FROM `+c.table+w.clause()+` ORDER BY `+keys+` LIMIT ?`,
			append(w.args, resealBatch)...)
		if err != nil || len(batch) == 0 {
			return err
		}
		if err := s.resealBatch(ctx, c, batch, out); err != nil {
			return err
		}
		tell(*out)
		after = batch[len(batch)-1].at
	}
}

func scanOld(keys int) func(*sql.Rows) (old, error) {
	return func(rows *sql.Rows) (o old, err error) {
		o.at = make([]any, keys)
		dest := make([]any, keys)
		for n := range dest {
			dest[n] = &o.at[n]
		}
		return o, rows.Scan(append(dest, &o.value)...)
	}
}

// resealBatch writes the values that are still what was read.
func (s *Store) resealBatch(ctx context.Context, c sealedColumn, batch []old, out *Resealed) error {
	fresh := make([]any, len(batch))
	for n, o := range batch {
		text, err := s.vault.open(c.of(o.at...), o.text())
		var missing *KeyError
		switch {
		case err == nil:
			fresh[n] = s.vault.put(c.of(o.at...), text)
		case errors.As(err, &missing):
			out.Missing[missing.Key]++
		case len(out.Broken) < maxBroken:
			out.Broken = append(out.Broken, c.of(o.at...).String())
		}
	}
	var done int64
	err := s.Write(ctx, func(tx *Tx) error {
		done = 0
		for n, o := range batch {
			if fresh[n] == nil {
				continue
			}
			changed, err := tx.exec(ctx, `UPDATE `+c.table+` SET `+c.name+` = ? WHERE `+equal(c.key)+` AND `+c.name+` = ?`,
				append(append([]any{fresh[n]}, o.at...), o.value)...)
			if err != nil {
				return err
			}
			done += changed
		}
		return nil
	})
	if err == nil {
		out.Values += done
	}
	return err
}

func equal(columns []string) string { return strings.Join(columns, " = ? AND ") + " = ?" }

// renameColumn hashes with a key the names that are not.
func (s *Store) renameColumn(ctx context.Context, c namedColumn, out *Resealed) error {
	for {
		batch, err := all(ctx, s.read(), scanOld(len(c.rest)), `SELECT `+strings.Join(append(slices.Clone(c.rest), c.name), ", ")+` FROM `+c.table+
			` WHERE substr(`+c.name+`, 1, ?) <> ? LIMIT ?`, len(namedPrefix), namedPrefix, resealBatch)
		if err != nil || len(batch) == 0 {
			return err
		}
		err = s.Write(ctx, func(tx *Tx) error {
			for _, o := range batch {
				if _, err := tx.rename(ctx, c, o.text(), o.at...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		out.Names += int64(len(batch))
	}
}

// rename brings a row's name into the form in which it is written now, which it returns. One that has both forms keeps the
// new one.
func (tx *Tx) rename(ctx context.Context, c namedColumn, name string, rest ...any) (string, error) {
	now := tx.vault.named(c, name)
	if now == name {
		return name, nil
	}
	row := equal(append([]string{c.name}, c.rest...))
	if _, err := tx.exec(ctx, `DELETE FROM `+c.table+` WHERE `+row+` AND EXISTS (SELECT 1 FROM `+c.table+` WHERE `+row+`)`,
		slices.Concat([]any{name}, rest, []any{now}, rest)...); err != nil {
		return now, err
	}
	_, err := tx.exec(ctx, `UPDATE `+c.table+` SET `+c.name+` = ? WHERE `+row, slices.Concat([]any{now, name}, rest)...)
	return now, err
}

// KeyUse is how many values are sealed under a key; "" is for those in clear.
type KeyUse struct {
	Key    string `json:"key"`
	Values int64  `json:"values"`
	// Here reports whether this process has the key.
	Here bool `json:"here"`
}

// KeysInUse counts the values by the key under which they are sealed, by the key's id. It reads the beginning of every value.
func (s *Store) KeysInUse(ctx context.Context) ([]KeyUse, error) {
	counts := map[string]int64{}
	for _, c := range sealedColumns {
		begin := fmt.Sprintf(s.dialect.start, c.name, "80") // an id has 64 bytes at most
		rest := fmt.Sprintf("substr(%s, %d)", begin, len(sealedPrefix)+1)
		rows, err := all(ctx, s.read(), func(rows *sql.Rows) (u KeyUse, err error) { return u, rows.Scan(&u.Key, &u.Values) },
			`SELECT CASE WHEN substr(`+begin+`, 1, 7) = '`+sealedPrefix+`' THEN `+fmt.Sprintf(s.dialect.beforeColon, rest)+` ELSE '' END, COUNT(*)
			FROM `+c.table+` WHERE `+c.name+` IS NOT NULL GROUP BY 1`)
		if err != nil {
			return nil, in(err, "count the keys of %s.%s", c.table, c.name)
		}
		for _, u := range rows {
			counts[u.Key] += u.Values
		}
	}
	var out []KeyUse
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, KeyUse{Key: id, Values: counts[id], Here: id == "" || s.vault.keys != nil && s.vault.keys.Has(id)})
	}
	return out, nil
}
