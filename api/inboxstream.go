package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdpoint/interaction"
)

// InboxEvent is the name of the events of the inbox's stream, and InboxReady that of its first: all that changes
// after it is told.
const (
	InboxEvent = "interaction"
	InboxReady = "ready"
)

// Bounds of one look at the inbox, and the least time between two.
const (
	inboxScans = 5 // pages of scanPage
	inboxPause = 200 * time.Millisecond
)

// InboxChange is an interaction that was opened, answered in part, or ended.
type InboxChange struct {
	Pending
	RunID     interaction.RunID         `json:"run_id"`
	Action    interaction.Action        `json:"action,omitempty" doc:"What it ended in"`
	By        []interaction.PrincipalID `json:"by,omitempty" doc:"Who has answered so far"`
	Approvals int                       `json:"approvals,omitempty"`
	Quorum    int                       `json:"quorum"`
	ClosedAt  time.Time                 `json:"closed_at,omitzero"`
	Redacted  bool                      `json:"redacted,omitempty" doc:"Parts are hidden here: read the interaction itself before you answer"`
}

type inboxEventsInput struct {
	ID     interaction.ID `query:"id" maxLength:"512" doc:"Only this one"`
	Follow bool           `query:"follow" default:"true" doc:"false ends the stream at once, when it is ready"`
}

// inboxEvents streams what changes among the interactions that the caller may see.
func (s *Server) inboxEvents(ctx context.Context, in *inboxEventsInput) (*huma.StreamResponse, error) {
	v := &inboxStream{s: s, p: principal(ctx), id: in.ID, once: !in.Follow}
	if in.ID != "" {
		i, err := s.getInteraction(ctx, &interactionPath{ID: in.ID})
		if err != nil {
			return nil, err
		}
		v.run = i.Body.RunID
	}
	select {
	case s.streams <- struct{}{}:
		return &huma.StreamResponse{Body: v.serve}, nil
	default:
		return nil, problem(http.StatusServiceUnavailable, CodeTooManyStreams, "%d event streams are open, which is all "+
			"this bridge takes; try again later", cap(s.streams)).header("Retry-After", "5")
	}
}

// inboxStream is one client's view of what waits.
type inboxStream struct {
	s    *Server
	p    interaction.Principal
	id   interaction.ID    // "" for all
	run  interaction.RunID // of id
	once bool
	seen map[interaction.ID]standing
}

// standing is what makes an interaction another than it was.
type standing struct {
	status    interaction.Status
	responses int
	submitted time.Time
	expires   time.Time
	reviewers int
}

func standingOf(i interaction.Interaction) standing {
	return standing{i.Status, len(i.Responses), i.SubmittedAt, i.Request.ExpiresAt, len(i.Request.Reviewers)}
}

func (v *inboxStream) serve(hc huma.Context) {
	defer func() { <-v.s.streams }()
	r, w := humago.Unwrap(hc)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(v.s.life, cancel)()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := &eventWriter{w: w, c: http.NewResponseController(w), timeout: v.s.cfg.WriteTimeout}
	defer out.end()
	if err := v.follow(ctx, out); err != nil && ctx.Err() == nil {
		v.s.cfg.Log.WarnContext(ctx, "inbox stream ended early", "principal", v.p.ID, "error", err)
	}
}

// follow looks, tells what is another than before, and waits. Looks are apart by a multiple of what one takes, so
// that a full inbox and a busy store cost a bounded part of a processor.
func (v *inboxStream) follow(ctx context.Context, out *eventWriter) error {
	wake := v.s.cfg.Store.Watch(ctx, v.run)
	beat := time.NewTicker(v.s.cfg.Heartbeat)
	defer beat.Stop()
	for first := true; ; first = false {
		began := time.Now()
		changed, err := v.look(ctx)
		if err != nil {
			return err
		}
		if first {
			changed = nil
			if err := out.named(InboxReady, struct{}{}); err != nil {
				return err
			}
			if v.once {
				return nil
			}
		}
		for _, i := range changed {
			if err := out.named(InboxEvent, v.s.changeOf(i)); err != nil {
				return err
			}
		}
		if !pause(ctx, max(inboxPause, 4*time.Since(began))) {
			return nil
		}
		if ok, err := v.wait(ctx, out, wake, beat.C); !ok || err != nil {
			return err
		}
	}
}

// wait returns when something may have changed; ok is false at the end.
func (v *inboxStream) wait(ctx context.Context, out *eventWriter, wake <-chan struct{}, beat <-chan time.Time) (ok bool, err error) {
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case _, ok := <-wake:
			return ok, nil
		case <-beat:
			if err := out.comment("waiting"); err != nil {
				return false, err
			}
		}
	}
}

// look returns the interactions that are another than at the last look, the oldest first.
func (v *inboxStream) look(ctx context.Context) ([]interaction.Interaction, error) {
	now, err := v.open(ctx)
	if err != nil {
		return nil, err
	}
	next := make(map[interaction.ID]standing, len(now))
	var changed []interaction.Interaction
	for _, i := range slices.Backward(now) {
		next[i.Request.ID] = standingOf(i)
		if v.seen[i.Request.ID] != standingOf(i) {
			changed = append(changed, i)
		}
	}
	for id := range v.seen {
		if _, still := next[id]; still {
			continue
		}
		i, found, err := v.s.cfg.Store.Interaction(ctx, id)
		if err != nil {
			return nil, err
		}
		if found && (i.Status.Final() || v.id != "") {
			changed = append(changed, i)
		}
	}
	v.seen = next
	slices.SortStableFunc(changed, func(a, b interaction.Interaction) int { return a.Request.CreatedAt.Compare(b.Request.CreatedAt) })
	return changed, nil
}

// open reads what is open and the caller may see, or the one that is asked for, whatever became of it.
func (v *inboxStream) open(ctx context.Context) (list []interaction.Interaction, err error) {
	if v.id != "" {
		i, found, err := v.s.cfg.Store.Interaction(ctx, v.id)
		if found {
			list = append(list, i)
		}
		return list, err
	}
	owner := v.s.ownerOf(ctx, v.p)
	f := InteractionFilter{Status: openStatuses(), PageSize: scanPage}
	for range inboxScans {
		rows, next, err := v.s.cfg.Store.Interactions(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, i := range rows {
			if ok, err := seesInteraction(v.p, i, owner); err != nil {
				return nil, err
			} else if ok {
				list = append(list, i)
			}
		}
		if next == "" {
			break
		}
		f.PageToken = next
	}
	return list, nil
}

func (s *Server) changeOf(i interaction.Interaction) InboxChange {
	c := InboxChange{Pending: newPending(i), RunID: i.Request.RunID, Action: i.Action, Approvals: i.Approvals(),
		Quorum: i.Request.QuorumNeeded(), ClosedAt: i.ClosedAt}
	for _, r := range i.Responses {
		c.By = append(c.By, r.Reviewer.ID)
	}
	if s.cfg.Hider != nil {
		c.Title, c.Redacted = s.cfg.Hider.Text(c.Title)
	}
	return c
}
