package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"holdpoint/interaction"
)

const (
	// listenCheck is how long a quiet connection is trusted to be one that still hears.
	listenCheck = 20 * time.Second
	// listenAnswer is how long it may take to prove it.
	listenAnswer = 5 * time.Second
)

// listener wakes the hub's watchers for what other processes announce. It has a connection of its own, and makes a
// new one whenever that breaks.
type listener struct {
	cfg  *pgx.ConnConfig
	self string
	hub  *hub
}

// run listens until ctx ends. Whatever was committed while nobody listened is not announced again, so each time
// all watchers are woken.
func (l *listener) run(ctx context.Context) {
	for attempt := 1; ctx.Err() == nil; attempt++ {
		conn, err := pgx.ConnectConfig(ctx, l.cfg.Copy())
		if err == nil {
			if l.listen(ctx, conn) {
				attempt = 0
			}
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenAnswer)
			// Its error tells nothing that the next connection would not.
			_ = conn.Close(closing)
			cancel()
			l.hub.wakeAll()
		}
		// The end of ctx is seen above. Until there is a connection again, polling sees to it that nothing is missed.
		_ = pause(ctx, reconnectStep*time.Duration(min(attempt+1, 30)))
	}
}

// listen returns when the connection breaks, and whether it ever heard.
func (l *listener) listen(ctx context.Context, conn *pgx.Conn) (heard bool) {
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return false
	}
	l.hub.wakeAll()
	for {
		waiting, cancel := context.WithTimeout(ctx, listenCheck)
		n, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			l.hear(n.Payload)
		case ctx.Err() != nil || conn.IsClosed() || !answers(ctx, conn):
			return true
		}
	}
}

func answers(ctx context.Context, conn *pgx.Conn) bool {
	ctx, cancel := context.WithTimeout(ctx, listenAnswer)
	defer cancel()
	return conn.Ping(ctx) == nil
}

// hear wakes who waits for the runs. Anyone who may use the database can notify, so what can't be read wakes all,
// as it does no harm.
func (l *listener) hear(payload string) {
	var a announcement
	if err := json.Unmarshal([]byte(payload), &a); err != nil {
		l.hub.wakeAll()
		return
	}
	if a.From == l.self {
		return
	}
	runs := make(map[interaction.RunID]bool, len(a.Runs))
	for _, r := range a.Runs {
		runs[r] = true
	}
	l.hub.notify(runs)
}
