package store

import (
	"context"
	"database/sql"
	"time"

	"holdpoint/interaction"
)

// poll looks once per interval, until nobody waits.
func (h *hub) poll() {
	t := time.NewTicker(h.interval)
	defer t.Stop()
	for {
		select {
		case <-h.ctx.Done():
			h.poller.close()
			return
		case <-t.C:
		}
		runs, fresh, ok := h.waiting()
		if !ok {
			return
		}
		changed, marks, err := h.poller.look(h.ctx, runs, fresh)
		h.compare(changed, marks, err)
	}
}

// waiting returns the runs that someone waits for, and whether one of the watchers is new. Without watchers
// polling is over.
func (h *hub) waiting() (runs []interaction.RunID, fresh, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watchers) == 0 {
		// Under the lock: as soon as it is released, a new watch may start another poll.
		h.poller.close()
		h.polling = false
		return nil, false, false
	}
	seen := map[interaction.RunID]bool{}
	for w := range h.watchers {
		fresh = fresh || !w.known
		if w.run != "" && !seen[w.run] {
			seen[w.run] = true
			runs = append(runs, w.run)
		}
	}
	return runs, fresh, true
}

// compare wakes whoever has something new to read. A new watcher is woken once: what happened between its first
// read and the first look is not known. After an error all are: their own reads will say what is wrong.
func (h *hub) compare(changed bool, marks map[interaction.RunID]mark, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		m, looked := marks[w.run]
		switch {
		case err != nil:
			w.fire()
		case w.run == "":
			if changed || !w.known {
				w.fire()
			}
			w.known = true
		case looked:
			if !w.known || w.seen != m {
				w.fire()
			}
			w.seen, w.known = m, true
		}
	}
}

// poller asks the database whether another connection has committed, and where runs stand.
type poller struct {
	db      *sql.DB
	d       *dialect
	conn    *sql.Conn // the version is counted per connection
	version string
}

// look reports whether anything was committed since the last look, and, if so or if fresh, the runs' marks.
func (p *poller) look(ctx context.Context, runs []interaction.RunID, fresh bool) (changed bool, marks map[interaction.RunID]mark, err error) {
	defer func() {
		if err != nil {
			p.close() // the next look begins anew
		}
	}()
	if p.conn == nil {
		if p.conn, err = p.db.Conn(ctx); err != nil {
			p.conn = nil
			return false, nil, err
		}
		changed = true
	}
	var version string // before the marks: a commit between the two shows next time
	if err = p.conn.QueryRowContext(ctx, p.d.version).Scan(&version); err != nil {
		return false, nil, err
	}
	changed = changed || version != p.version
	p.version = version
	if !changed && !fresh {
		return false, nil, nil
	}
	marks, err = queries{q: p.conn, d: p.d}.marksOf(ctx, runs)
	return changed, marks, err
}

func (p *poller) close() {
	if p.conn == nil {
		return
	}
	// Its error tells nothing that the next look would not.
	_ = p.conn.Close()
	p.conn = nil
}

// lookAtOnce bounds the parameters of one query.
const lookAtOnce = 200

// marksOf returns a mark for each of the runs, the zero mark for one that does not exist yet.
func (q queries) marksOf(ctx context.Context, runs []interaction.RunID) (map[interaction.RunID]mark, error) {
	marksByRun := make(map[interaction.RunID]mark, len(runs))
	for len(runs) > 0 {
		part := runs[:min(len(runs), lookAtOnce)]
		runs = runs[len(part):]
		var args []any
		for _, r := range part {
			marksByRun[r] = mark{}
			if storable(string(r)) {
				args = append(args, r)
			}
		}
		if len(args) == 0 {
			continue
		}
		_, err := all(ctx, q, func(rows *sql.Rows) (struct{}, error) {
			var id interaction.RunID
			var m mark
			err := rows.Scan(&id, &m.number, &m.delta)
			marksByRun[id] = m
			return struct{}{}, err
		}, `SELECT id, head_number, delta_id FROM runs WHERE id IN (`+marks(len(args))+`)`, args...)
		if err != nil {
			return nil, err
		}
	}
	return marksByRun, nil
}
