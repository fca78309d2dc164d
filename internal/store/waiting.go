package store

import (
	"context"
	"database/sql"
	"time"

	"holdpoint/interaction"
)

// Waiting is how many interactions of one risk are open that were opened at or after Since and before the next younger
// bound.
type Waiting struct {
	Risk  string
	Since time.Time // zero: no bound
	Count int64
}

// Waiting counts the open interactions by risk and by when they were opened. bounds go from the youngest to the oldest; what
// is older than all of them is counted under a zero time.
func (s *Store) Waiting(ctx context.Context, bounds []time.Time) ([]Waiting, error) {
	var out []Waiting
	younger := int64(1<<63 - 1)
	for _, since := range append(bounds[:len(bounds):len(bounds)], time.Time{}) {
		from := int64(-1 << 63)
		if !since.IsZero() {
			from = since.UnixMicro()
		}
		rows, err := all(ctx, s.read(), func(r *sql.Rows) (Waiting, error) {
			w := Waiting{Since: since}
			return w, r.Scan(&w.Risk, &w.Count)
		}, `SELECT risk, COUNT(*) FROM interactions WHERE status IN (?, ?) AND created_at >= ? AND created_at < ? GROUP BY risk ORDER BY risk`,
			string(interaction.StatusPending), string(interaction.StatusHeld), from, younger)
		if err != nil {
			return nil, in(err, "count what waits")
		}
		out, younger = append(out, rows...), from
	}
	return out, nil
}
