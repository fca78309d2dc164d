package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/store"
)

// readAll reads a run's record in small pieces.
func readAll(t testing.TB, s *store.Store, run interaction.RunID) []event.Event {
	t.Helper()
	var out []event.Event
	for after := int64(0); ; {
		part, err := s.Events(t.Context(), run, after, 7)
		no(t, err)
		if len(part) == 0 {
			return out
		}
		out = append(out, part...)
		after = part[len(part)-1].Number
	}
}

// wantNumbers wants the run's events to be 1..n, and its chain whole.
func wantNumbers(t testing.TB, s *store.Store, run interaction.RunID, n int) {
	t.Helper()
	events := readAll(t, s, run)
	if len(events) != n {
		t.Fatalf("run %s has %d events, want %d", run, len(events), n)
	}
	for i, e := range events {
		if e.Number != int64(i+1) {
			t.Fatalf("event %d of run %s has number %d", i+1, run, e.Number)
		}
	}
	no(t, s.VerifyRun(t.Context(), run))
}

func TestEventsComeBackAsTheyWere(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		addRun(t, s, "r1")
		east := time.FixedZone("east", 3*3600)
		in := []event.Event{
			note("r1", "plain"),
			{Type: event.RunPaused, Time: time.Date(2026, 1, 2, 3, 4, 5, 678901234, east)}, // nanoseconds, a zone, no payload
			{RunID: "r1", Type: event.Error, Time: start, Payload: json.RawMessage("{ \"html\" : \"<b>&\", \"u\":\"\\u0000\u2028\" }")},
			{RunID: "r1", Type: event.Error, Time: start, Payload: json.RawMessage("\"not UTF-8: \xff\"")},
			{RunID: "r1", Type: event.Error, Payload: json.RawMessage(`"no time"`)},
		}
		var head event.Head
		write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
			head, err = tx.AppendEvents(ctx, "r1", in...)
			return err
		})
		got, err := s.Events(t.Context(), "r1", 0, 0)
		no(t, err)
		for i, e := range got {
			want := in[i].Payload
			if want == nil {
				want = json.RawMessage("null")
			}
			if !bytes.Equal(e.Payload, want) || e.Type != in[i].Type || !e.Time.Equal(in[i].Time.Truncate(time.Microsecond)) {
				t.Errorf("event %d: got %s %s %s", i+1, e.Type, e.Time, e.Payload)
			}
			if len(e.Salt) != 16 || e.RunID != "r1" {
				t.Errorf("event %d has salt %x and run %q", i+1, e.Salt, e.RunID)
			}
		}
		end, err := event.Verify(event.Head{}, got)
		no(t, err)
		if end != head {
			t.Errorf("the chain ends at %v, AppendEvents said %v", end, head)
		}
		wantNumbers(t, s, "r1", len(in))
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, locked, found, err := tx.LockRun(ctx, "r1")
			if !found || locked != head {
				t.Errorf("LockRun: found %v, head %v, want %v", found, locked, head)
			}
			same, err2 := tx.AppendEvents(ctx, "r1")
			if same != head {
				t.Errorf("appending nothing moved the head to %v", same)
			}
			return errors.Join(err, err2)
		})
		part, err := s.Events(t.Context(), "r1", 2, 2)
		no(t, err)
		if len(part) != 2 || part[0].Number != 3 || part[1].Number != 4 {
			t.Errorf("two events after 2: got %v", part)
		}
	})
}

func TestAnEventOfAKnownKeyIsLeftOut(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		addRun(t, s, "r1")
		addRun(t, s, "r2")
		keyed := func(key, text string) event.Event {
			e := note("", text)
			e.Key = key
			return e
		}
		add := func(run interaction.RunID, events ...event.Event) (head event.Head) {
			write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
				head, err = tx.AppendEvents(ctx, run, events...)
				return err
			})
			return head
		}
		first := add("r1", keyed("a", "1"), keyed("b", "2"), keyed("a", "twice in one batch"), note("", "no key"), note("", "no key"))
		if first.Number != 4 {
			t.Errorf("the head is at %d, want 4", first.Number)
		}
		if again := add("r1", keyed("a", "other"), keyed("b", "other")); again != first {
			t.Errorf("a repetition moved the head from %v to %v", first, again)
		}
		if head := add("r1", keyed("b", "other"), keyed("c", "3")); head.Number != 5 {
			t.Errorf("the head is at %d, want 5", head.Number)
		}
		if head := add("r2", keyed("a", "another run's")); head.Number != 1 {
			t.Errorf("the head of r2 is at %d, want 1", head.Number)
		}
		wantNumbers(t, s, "r1", 5)
		if got := readAll(t, s, "r1")[0]; got.Key != "a" || !strings.Contains(string(got.Payload), `"1"`) {
			t.Errorf("the first event of the key did not stay: %s", got.Payload)
		}
	})
}

func TestEventsThatCannotBeStoredAreRefusedWhole(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		addRun(t, s, "r1")
		big, err := json.Marshal(strings.Repeat("x", store.MaxValueBytes))
		no(t, err)
		for name, tc := range map[string]struct {
			e     event.Event
			code  interaction.Code
			field string
		}{
			"another run's":  {note("r2", "x"), interaction.CodeInvalid, "run_id"},
			"unknown type":   {event.Event{Type: "boo"}, interaction.CodeInvalid, "type"},
			"live only":      {event.Event{Type: event.StepDelta}, interaction.CodeInvalid, "type"},
			"not JSON":       {event.Event{Type: event.Error, Payload: json.RawMessage("{")}, interaction.CodeInvalid, "payload"},
			"too large":      {event.Event{Type: event.Error, Payload: big}, interaction.CodeTooLarge, "payload"},
			"key with a NUL": {event.Event{Type: event.Error, Key: "a\x00"}, interaction.CodeInvalid, "event_key"},
		} {
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.AppendEvents(t.Context(), "r1", note("r1", "fine"), tc.e)
				return err
			})
			var e *interaction.Error
			if !errors.As(err, &e) || e.Code != tc.code || e.Field != tc.field {
				t.Errorf("%s: got %v, want %s at %s", name, err, tc.code, tc.field)
			}
		}
		err = s.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.AppendEvents(t.Context(), "nobody", note("", "x"))
			return err
		})
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a run that does not exist: got %v, want ErrNotFound", err)
		}
		wantNumbers(t, s, "r1", 0)
		if err := s.VerifyRun(t.Context(), "nobody"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("VerifyRun of a run that does not exist: %v", err)
		}
	})
}

func TestTwentyConcurrentWritersOfOneRun(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		addRun(t, s, "r1")
		const writers, each = 20, 10
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for n := range each {
					err := s.Write(t.Context(), func(tx *store.Tx) error {
						e := note("r1", fmt.Sprint(w, n))
						e.Key = fmt.Sprintf("%d-%d", w, n)
						head, err := tx.AppendEvents(t.Context(), "r1", e)
						if err == nil && head.Number == 0 {
							err = errors.New("no head")
						}
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		wantNumbers(t, s, "r1", writers*each)
	})
}

func TestTwentyConcurrentWritersOfOneRunFromTwoStores(t *testing.T) {
	onShared(t, func(t *testing.T, d shared) {
		stores := []*store.Store{open(t, d.cfg), open(t, d.cfg)}
		addRun(t, stores[0], "r1")
		const writers, each = 20, 10
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				s := stores[w%len(stores)]
				for n := range each {
					err := s.Write(t.Context(), func(tx *store.Tx) error {
						seq, err := tx.NextSequence(t.Context(), "s")
						if err != nil {
							return err
						}
						if err := tx.InsertStep(t.Context(), step("r1", "s", seq)); err != nil {
							return err
						}
						_, err = tx.AppendEvents(t.Context(), "r1", note("r1", fmt.Sprint(w, n)))
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, s := range stores {
			wantNumbers(t, s, "r1", writers*each)
		}
		steps, err := stores[0].Transcript(t.Context(), "s")
		no(t, err)
		for i, st := range steps {
			if st.Sequence != int64(i+1) {
				t.Fatalf("step %d has sequence %d", i+1, st.Sequence)
			}
		}
		if len(steps) != writers*each {
			t.Errorf("%d steps, want %d", len(steps), writers*each)
		}
	})
}

func TestTamperingShows(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{
		"payload changed":          {`UPDATE events SET payload = '{"code":"note","message":"forged"}' WHERE number = 3`},
		"payload and its hash":     {`UPDATE events SET payload = '1', payload_hash = 'ab' WHERE number = 3`},
		"salt changed":             {`UPDATE events SET salt = '00' WHERE number = 3`},
		"salt unreadable":          {`UPDATE events SET salt = 'zz' WHERE number = 3`},
		"time changed":             {`UPDATE events SET happened_at = happened_at + 1 WHERE number = 3`},
		"type changed":             {`UPDATE events SET type = 'run_paused' WHERE number = 3`},
		"removed in the middle":    {`DELETE FROM events WHERE number = 3`},
		"removed at the start":     {`DELETE FROM events WHERE number = 1`},
		"cut off":                  {`DELETE FROM events WHERE number = 5`},
		"removed and renumbered":   {`DELETE FROM events WHERE number = 3`, `UPDATE events SET number = 3 WHERE number = 4`, `UPDATE events SET number = 4 WHERE number = 5`},
		"swapped":                  {`UPDATE events SET number = 9 WHERE number = 3`, `UPDATE events SET number = 3 WHERE number = 4`, `UPDATE events SET number = 4 WHERE number = 9`},
		"head moved":               {`UPDATE runs SET head_hash = 'ab'`},
		"another's ciphertext":     {`UPDATE events SET payload = (SELECT payload FROM events WHERE number = 2), salt = (SELECT salt FROM events WHERE number = 2) WHERE number = 3`},
		"all gone":                 {`DELETE FROM events`},
		"erased, then type change": {`UPDATE events SET salt = NULL, payload = NULL, type = 'run_paused' WHERE number = 3`},
		"erased, then hash change": {`UPDATE events SET salt = NULL, payload = NULL, payload_hash = 'ab' WHERE number = 3`},
	} {
		for kind, cfg := range map[string]store.Config{"clear": {}, "sealed": sealed(store.Config{}, firstKey)} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				cfg.DSN = t.TempDir() + "/x.db"
				s := open(t, cfg)
				fiveEvents(t, s)
				raw(t, cfg.DSN, statements...)
				if err := s.VerifyRun(t.Context(), "r1"); !errors.Is(err, store.ErrTampered) {
					t.Errorf("got %v, want ErrTampered", err)
				}
			})
		}
	}
}

func TestAPayloadCanBeErased(t *testing.T) {
	onSealedToo(t, func(t *testing.T, d shared) {
		s := open(t, d.cfg)
		fiveEvents(t, s)
		d.raw(t, `UPDATE events SET salt = NULL, payload = NULL WHERE number = 3`)
		no(t, s.VerifyRun(t.Context(), "r1"))
		if e := readAll(t, s, "r1")[2]; !e.Erased() || e.Type != event.Error {
			t.Errorf("the erased event reads %s %s", e.Type, e.Payload)
		}
		d.raw(t, `UPDATE events SET type = 'run_paused' WHERE number = 3`)
		if err := s.VerifyRun(t.Context(), "r1"); !errors.Is(err, store.ErrTampered) {
			t.Errorf("got %v, want ErrTampered", err)
		}
	})
}

func fiveEvents(t testing.TB, s *store.Store) {
	t.Helper()
	addRun(t, s, "r1")
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for n := range 5 {
			if _, err := tx.AppendEvents(ctx, "r1", note("r1", fmt.Sprint(n))); err != nil {
				return err
			}
		}
		return nil
	})
	no(t, s.VerifyRun(t.Context(), "r1"))
}

func BenchmarkAppendEvents(b *testing.B) {
	for name, open := range backends {
		for _, n := range []int{1, 10} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				s := open(b)
				addRun(b, s, "r1")
				events := make([]event.Event, n)
				for i := range events {
					events[i] = note("r1", strings.Repeat("x", 500))
				}
				b.ReportAllocs()
				for b.Loop() {
					write(b, s, func(ctx context.Context, tx *store.Tx) error {
						_, err := tx.AppendEvents(ctx, "r1", events...)
						return err
					})
				}
			})
		}
	}
}
