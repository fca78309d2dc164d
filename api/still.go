package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"holdpoint/interaction"
)

// whileEntitled bounds a request by the credentials that it came with. Streams, WebSockets and long-polls outlive the moment
// at which they were let in: who was revoked, whose token is over, or who may do something else now, is found out within a
// heartbeat, and what they follow ends there. They may come again as who they are by then. What can't be found out ends nothing.
func (s *Server) whileEntitled(r *http.Request, p interaction.Principal) (*http.Request, func()) {
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), principalKey{}, p))
	again := r.Clone(ctx) // handlers may change theirs
	var timer *time.Timer
	ready := make(chan struct{})
	timer = time.AfterFunc(s.cfg.Heartbeat, func() {
		<-ready
		if ctx.Err() != nil {
			return
		}
		now, ok, err := s.whoIs(again)
		if ctx.Err() != nil {
			return
		}
		if err == nil && (!ok || !reflect.DeepEqual(now, p)) {
			s.cfg.Log.InfoContext(ctx, "what was followed ended with what let its reader in", "principal", p.ID, "path", r.URL.Path)
			cancel()
			return
		}
		timer.Reset(s.cfg.Heartbeat)
	})
	close(ready)
	return r.WithContext(ctx), func() { timer.Stop(); cancel() }
}
