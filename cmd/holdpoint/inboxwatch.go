package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// minEvery is how often a live list may look at most.
const minEvery = 200 * time.Millisecond

// change is a line of the live list for programs.
type change struct {
	Change      string           `json:"change"` // opened, changed or closed
	Interaction *api.Interaction `json:"interaction,omitempty"`
}

// inboxLive shows what waits, and every change of it, until it is interrupted.
type inboxLive struct {
	c     *cli
	cl    *client
	r     *remote
	run   interaction.RunID
	json  bool
	known map[interaction.ID]api.Interaction
	order []interaction.ID
	drawn time.Time
	lost  bool
}

func (l *inboxLive) follow(ctx context.Context, every time.Duration) error {
	l.known = map[interaction.ID]api.Interaction{}
	for first := true; ; first = false {
		list, _, err := l.cl.waiting(ctx, l.run)
		switch {
		case ctx.Err() != nil:
			return &exit{code: exitInterrupted}
		case err != nil && (first || lasting(err)):
			return err
		case err != nil:
			l.trouble(err)
		default:
			l.back()
			if err := l.show(ctx, list, first); err != nil {
				return err
			}
		}
		if !sleep(ctx, every) {
			return &exit{code: exitInterrupted}
		}
	}
}

// trouble tells once that the bridge is away.
func (l *inboxLive) trouble(err error) {
	if !l.lost {
		fmt.Fprintf(l.c.err, "holdpoint: trying again until the bridge is back: %s\n", interaction.Visible(err.Error()))
	}
	l.lost = true
}

func (l *inboxLive) back() {
	if l.lost {
		fmt.Fprintln(l.c.err, "holdpoint: the bridge is back")
	}
	l.lost = false
}

// show writes what changed: as a screen at a terminal, as lines elsewhere.
func (l *inboxLive) show(ctx context.Context, list []api.Interaction, first bool) error {
	changed, err := l.changes(ctx, list)
	if err != nil {
		return err
	}
	if l.c.width > 0 && l.c.style.on && !l.json {
		if first || len(changed) > 0 || l.c.now().Sub(l.drawn) >= time.Minute {
			l.draw(list)
		}
		return nil
	}
	for _, ch := range changed {
		if err := l.line(ch); err != nil {
			return err
		}
	}
	if first && len(list) == 0 && !l.json {
		fmt.Fprintln(l.c.out, "Nothing waits for a person.")
	}
	return nil
}

// changes compares with what was known. What does not wait any more is read again, to tell what became of it.
func (l *inboxLive) changes(ctx context.Context, list []api.Interaction) ([]change, error) {
	var out []change
	now := map[interaction.ID]bool{}
	for _, it := range list {
		now[it.ID] = true
		old, known := l.known[it.ID]
		switch {
		case !known:
			out = append(out, change{"opened", &it})
			l.order = append(l.order, it.ID)
		case old.Status != it.Status || !old.SubmittedAt.Equal(it.SubmittedAt) || len(old.Responses) != len(it.Responses) ||
			!old.ExpiresAt.Equal(it.ExpiresAt) || !slices.Equal(old.Reviewers, it.Reviewers):
			out = append(out, change{"changed", &it})
		}
		l.known[it.ID] = it
	}
	var still []interaction.ID
	for _, id := range l.order {
		if now[id] {
			still = append(still, id)
			continue
		}
		it, err := l.cl.interaction(ctx, id)
		if err != nil {
			it = l.known[id] // it can't be seen any more
		}
		out = append(out, change{"closed", &it})
		delete(l.known, id)
	}
	l.order = still
	return out, ctx.Err()
}

func (l *inboxLive) line(ch change) error {
	it := *ch.Interaction
	if l.json {
		return l.c.printLine(ch)
	}
	mark, text := l.c.style.yellow("+"), it.Title
	switch {
	case ch.Change == "closed":
		mark, text = l.c.style.faint("-"), it.Title+": "+endText(it)
	case it.Settled():
		mark, text = "~", it.Title+": decided, carried out as soon as the run goes on"
	case ch.Change == "changed":
		mark, text = "~", it.Title+": "+string(it.Status)
	}
	l.c.line(l.c.out, mark, shortID(it.ID)+"  "+orDash(it.Risk)+"  "+orDash(it.ToolName)+"  "+text)
	return nil
}

// endText says what a closed interaction ended in.
func endText(it api.Interaction) string {
	if n := len(it.Responses); n > 0 && it.Status == interaction.StatusAnswered {
		return answerText(it.Responses[n-1])
	}
	text := string(it.Status)
	if it.ClosedReason != "" {
		text += ": " + it.ClosedReason
	}
	return text
}

// draw writes the whole list on a clean screen.
func (l *inboxLive) draw(list []api.Interaction) {
	l.drawn = l.c.now()
	fmt.Fprint(l.c.out, "\x1b[H\x1b[2J")
	if len(list) == 0 {
		fmt.Fprintln(l.c.out, "Nothing waits for a person.")
	} else {
		l.c.table(list)
	}
	fmt.Fprintln(l.c.out, "\n"+l.c.style.faint(fmt.Sprintf("Live at %s. Ctrl-C ends; answer with %s inbox%s in another terminal.",
		l.drawn.Format("15:04:05"), l.c.name, l.r.typed())))
}
