package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/llm"
)

func TestResealBringsEverythingUnderTheNewKey(t *testing.T) {
	for _, before := range []string{"in clear", "under another key"} {
		t.Run(before, func(t *testing.T) {
			onShared(t, func(t *testing.T, d shared) {
				old, next := d.cfg, sealed(d.cfg, secondKey)
				old.Sealing, old.Keys = store.SealNothing, nil
				if before != "in clear" {
					old, next = sealed(d.cfg, firstKey), sealed(d.cfg, secondKey, firstKey)
				}
				s := open(t, old)
				every(t, s)
				want, err := readEverything(t, s)
				no(t, err)
				no(t, s.Close())

				s = open(t, next)
				if got, err := readEverything(t, s); err != nil || got != want {
					t.Errorf("before: %v\n got %s\nwant %s", err, got, want)
				}
				stop, cancel := context.WithCancel(t.Context())
				calls := 0
				if _, err := s.Reseal(stop, func(store.Resealed) { // stopped halfway
					if calls++; calls == 5 {
						cancel()
					}
				}); !errors.Is(err, context.Canceled) {
					t.Errorf("stopped: %v", err)
				}
				cancel()
				if got, err := readEverything(t, s); err != nil || got != want {
					t.Errorf("halfway: %v\n got %s\nwant %s", err, got, want)
				}
				first, err := s.Reseal(t.Context(), func(store.Resealed) {})
				no(t, err)
				again, err := s.Reseal(t.Context(), func(store.Resealed) {})
				no(t, err)
				if first.Values == 0 || again.Values+again.Names != 0 || len(first.Missing)+len(first.Broken) != 0 {
					t.Errorf("resealed %+v, and again %+v", first, again)
				}
				uses, err := s.KeysInUse(t.Context())
				no(t, err)
				if len(uses) != 1 || uses[0].Key != "k2" || !uses[0].Here || uses[0].Values < 20 {
					t.Errorf("keys in use: %+v", uses)
				}
				no(t, s.Close())
				if found := marked(d.dump(t)); found != nil {
					t.Errorf("the tables have in clear: %q", found)
				}
				strict := sealed(d.cfg, secondKey) // the old key is gone, and nothing may be in clear
				strict.Sealing = store.SealRequired
				s = open(t, strict)
				if got, err := readEverything(t, s); err != nil || got != want {
					t.Errorf("after: %v\n got %s\nwant %s", err, got, want)
				}
				if d.cfg.Driver == store.SQLite {
					b, err := os.ReadFile(d.cfg.DSN)
					no(t, err)
					if bytes.Contains(b, []byte(private)) {
						t.Error("the file has what was said in clear, in pages that are no longer used")
					}
				}
			})
		})
	}
}

func TestResealIsSafeBesideThoseWhoWrite(t *testing.T) {
	onShared(t, func(t *testing.T, d shared) {
		old, next := open(t, sealed(d.cfg, firstKey)), open(t, sealed(d.cfg, secondKey, firstKey))
		const runs = 30
		for n := range runs {
			addRun(t, old, interaction.RunID(fmt.Sprint("r", n)))
		}
		var stop atomic.Bool
		done := make(chan int)
		go func() { // an older process goes on, with the old key
			count := 0
			for ; !stop.Load() || count < runs; count++ {
				r := newRun(interaction.RunID(fmt.Sprint("r", count%runs)))
				r.Output = fmt.Sprint(count)
				err := old.Write(t.Context(), func(tx *store.Tx) error {
					if err := tx.UpdateRun(t.Context(), r); err != nil {
						return err
					}
					if err := tx.InsertStep(t.Context(), llm.Step{ID: interaction.StepID(fmt.Sprint("s", count)), RunID: r.ID, SessionID: "s", Sequence: int64(count)}); err != nil {
						return err
					}
					_, err := tx.AppendEvents(t.Context(), r.ID, note(r.ID, fmt.Sprint(count)))
					return err
				})
				if err != nil {
					t.Error(err)
					break
				}
			}
			done <- count
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // it may never come to an end while they write
		if _, err := next.Reseal(ctx, func(store.Resealed) {}); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
		stop.Store(true)
		count := <-done
		out, err := next.Reseal(t.Context(), func(store.Resealed) {})
		if err != nil || len(out.Broken)+len(out.Missing) > 0 {
			t.Errorf("resealed %+v, %v", out, err)
		}
		for n := range runs {
			id := interaction.RunID(fmt.Sprint("r", n))
			no(t, next.VerifyRun(t.Context(), id))
			last := (count-1-n)/runs*runs + n
			if r, _, err := next.Run(t.Context(), id); err != nil || r.Output != fmt.Sprint(last) {
				t.Errorf("run %s ends with %q (%v), want %d: a write was lost", id, r.Output, err, last)
			}
		}
		if uses, err := next.KeysInUse(t.Context()); err != nil || len(uses) != 1 || uses[0].Key != "k2" {
			t.Errorf("keys in use: %+v, %v", uses, err)
		}
	})
}

func TestAResealWithoutAnOldKeyLeavesItsRowsAndNamesIt(t *testing.T) {
	conformClear(t, func(t *testing.T, cfg store.Config) {
		s := open(t, sealed(cfg, firstKey))
		every(t, s)
		both := open(t, sealed(cfg, secondKey, firstKey))
		_, err := both.Reseal(t.Context(), func(store.Resealed) {})
		no(t, err)
		addRun(t, s, "late")
		s = open(t, sealed(cfg, secondKey))
		if _, _, err := s.Run(t.Context(), "late"); !errors.Is(err, store.ErrNoKey) || !strings.Contains(err.Error(), `"k1"`) {
			t.Errorf("read with %v", err)
		}
		if rules, _, err := s.Runs(t.Context(), store.RunFilter{}); !errors.Is(err, store.ErrNoKey) || rules != nil {
			t.Errorf("listed %d runs with %v", len(rules), err)
		}
		out, err := s.Reseal(t.Context(), func(store.Resealed) {})
		if err != nil || out.Missing["k1"] != 1 || out.Values != 0 {
			t.Errorf("resealed %+v, %v", out, err)
		}
		uses, err := s.KeysInUse(t.Context())
		if err != nil || len(uses) != 2 || uses[0].Here || uses[0].Values != 1 {
			t.Errorf("keys in use: %+v, %v", uses, err)
		}
	})
}
