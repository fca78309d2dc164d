package web_test

import (
	"context"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store"
)

// plant puts a question into the record that no run asks.
func plant(t *testing.T, h *apptest.Holdpoint, q interaction.Request) {
	t.Helper()
	plantSoon(t, h, q)
	planting.flush(t, h)
}

// planting collects questions, so that many are written in one transaction.
var planting garden

type garden struct{ waiting, all []interaction.Interaction }

func plantSoon(t *testing.T, _ *apptest.Holdpoint, q interaction.Request) {
	t.Helper()
	q.CreatedAt = time.Now().UTC().Truncate(time.Microsecond)
	planting.waiting = append(planting.waiting, interaction.Interaction{Request: q, Status: interaction.StatusPending})
}

func (g *garden) flush(t *testing.T, h *apptest.Holdpoint) {
	t.Helper()
	g.write(t, h, g.waiting)
	g.all, g.waiting = append(g.all, g.waiting...), nil
}

// close ends what was planted, so that it is in no other test's way.
func (g *garden) close(t *testing.T, h *apptest.Holdpoint) {
	t.Helper()
	for n := range g.all {
		g.all[n].Status, g.all[n].Reason = interaction.StatusCancelled, "it was planted"
	}
	g.write(t, h, g.all)
	g.all = nil
}

func (g *garden) write(t *testing.T, h *apptest.Holdpoint, list []interaction.Interaction) {
	t.Helper()
	if err := h.Store().Write(context.Background(), func(tx *store.Tx) error {
		for _, i := range list {
			if err := tx.SaveInteraction(context.Background(), i); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
