package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/seal"
	"holdpoint/internal/store"
	"holdpoint/internal/store/pgtest"
	"holdpoint/llm"
	"holdpoint/permission"
)

var firstKey, secondKey = seal.NewKey("k1"), seal.NewKey("k2")

// sealed turns encryption on, under the first of the keys.
func sealed(cfg store.Config, keys ...string) store.Config {
	cfg.Sealing = store.SealOn
	return holding(cfg, keys...)
}

// holding has a process know keys.
func holding(cfg store.Config, keys ...string) store.Config {
	ring, err := seal.Parse(strings.Join(keys, ","))
	if err != nil {
		panic(err)
	}
	cfg.Keys = ring
	return cfg
}

// onSealedToo is onShared, and a database that is sealed.
func onSealedToo(t *testing.T, test func(t *testing.T, d shared)) {
	t.Helper()
	onShared(t, test)
	t.Run("sealed", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir() + "/x.db"
		test(t, shared{cfg: sealed(store.Config{DSN: path}, firstKey), raw: func(t testing.TB, statements ...string) {
			t.Helper()
			raw(t, path, statements...)
		}})
	})
}

// every fills every table that has what people, models and tools said.
func every(t *testing.T, s *store.Store) {
	t.Helper()
	spoken(t, s, "s1", "ann", start, false)
	spoken(t, s, "s2", "ann", start, true)
	no(t, s.Delta(t.Context(), "run-s2", event.StepDeltaData{Turn: 9, Text: private}))
	no(t, s.SaveToken(t.Context(), store.Token{ID: "t1", Hash: strings.Repeat("ab", 32), Principal: interaction.Principal{ID: "ann"}, Note: private, CreatedAt: start}))
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.SaveAgent(ctx, "d1", agent.Agent{Name: "a", SystemPrompt: private}); err != nil {
			return err
		}
		return tx.Enqueue(ctx, agent.Notice{ID: "n1", To: "n", RunID: "run-s2", Interaction: private}, start)
	})
}

// readEverything reads with every method that reads what is sealed, and returns what it read and the first error.
func readEverything(t *testing.T, s *store.Store) (string, error) {
	t.Helper()
	ctx := t.Context()
	var out strings.Builder
	var first error
	add := func(v any, err error) {
		if err != nil && first == nil {
			first = err
		}
		if b, _ := json.Marshal(v); err == nil {
			fmt.Fprintf(&out, "%s\n", b)
		}
	}
	two := func(v any, _ string, err error) { add(v, err) }
	three := func(v any, found bool, err error) {
		if !found && err == nil {
			t.Errorf("%T: what was sealed reads as if it were not there", v)
		}
		add(v, err)
	}
	two(s.Runs(ctx, store.RunFilter{}))
	two(s.Interactions(ctx, store.InteractionFilter{}))
	two(s.Closed(ctx, store.ClosedFilter{Tool: "bash"}))
	two(s.Steps(ctx, "run-s1", 0, ""))
	two(s.Tokens(ctx, store.TokenFilter{}))
	two(s.ListRules(ctx, store.RuleFilter{UserID: "ann", Now: start}))
	add(s.Transcript(ctx, "s1"))
	add(s.Events(ctx, "run-s1", 0, 0))
	add(s.Deltas(ctx, "run-s2", 0))
	add(s.PastCalls(ctx, "ann", 9))
	add(s.Rules(ctx, "ann", "s1"))
	three(s.Run(ctx, "run-s1"))
	three(s.Interaction(ctx, "run-s1-i"))
	three(s.Response(ctx, "run-s1-r"))
	three(s.TokenByHash(ctx, strings.Repeat("ab", 32)))
	due, _, err := s.DueNotices(ctx, start, 9)
	add(due, err)
	add(nil, s.VerifyRun(ctx, "run-s1"))
	err = s.Write(ctx, func(tx *store.Tx) error {
		three(tx.Turn(ctx, "run-s1", 1))
		three(tx.Call(ctx, "run-s1-c"))
		three(tx.Execution(ctx, "run-s1-c"))
		three(tx.Memory(ctx, "run-s1", "memory"))
		three(tx.Agent(ctx, "d1"))
		three(tx.KeptResult(ctx, "key-s1"))
		add(tx.OpenCalls(ctx, "run-s2"))
		return nil
	})
	no(t, err)
	return out.String(), first
}

// marked are the words of which none may stand in a database that is sealed: what was said, and names that are hashes of it.
func marked(text string) (found []string) {
	for _, w := range []string{private, "key-s1", "memory\n", "memory\""} {
		if strings.Contains(text, w) {
			found = append(found, w)
		}
	}
	return found
}

func TestWhatWasSaidIsSealedAndRead(t *testing.T) {
	onShared(t, func(t *testing.T, d shared) {
		d.cfg = sealed(d.cfg, firstKey)
		s := open(t, d.cfg)
		every(t, s)
		if found := marked(d.dump(t)); found != nil {
			t.Errorf("the tables have in clear: %q", found)
		}
		text, err := readEverything(t, s)
		no(t, err)
		if n := strings.Count(text, private); n < 20 {
			t.Errorf("what was said was read %d times:\n%s", n, text)
		}
		no(t, s.Close())
		if d.cfg.Driver == store.Postgres {
			return
		}
		for _, file := range []string{d.cfg.DSN, d.cfg.DSN + "-wal"} {
			if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte(private)) {
				t.Errorf("%s has what was said in clear", file)
			}
		}
	})
}

func TestWithoutItsKeyNothingIsReadAndTheKeyIsNamed(t *testing.T) {
	onShared(t, func(t *testing.T, d shared) {
		d.cfg = sealed(d.cfg, firstKey)
		s := open(t, d.cfg)
		every(t, s)
		no(t, s.Close())
		plain := d.cfg
		plain.Keys, plain.Sealing = nil, store.SealNothing
		for name, cfg := range map[string]store.Config{"no key": plain, "another key": sealed(d.cfg, secondKey)} {
			_, err := store.Open(t.Context(), cfg)
			if !errors.Is(err, store.ErrNoKey) || !strings.Contains(err.Error(), `"k1"`) {
				t.Errorf("%s: opened with %v", name, err)
			}
		}
	})
}

func TestTheKeyOfNamesIsNotMadeAnewBesideNames(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/x.db"
	cfg := sealed(store.Config{DSN: path}, firstKey)
	s := open(t, cfg)
	every(t, s)
	no(t, s.Close())
	raw(t, path, `DELETE FROM sealing`)
	if s, err := store.Open(t.Context(), cfg); !errors.Is(err, store.ErrTampered) || !strings.Contains(err.Error(), "restore it from a backup") {
		t.Errorf("without the key of its names the database opens: %v, %v", s, err)
	}
}

func TestAValueOpensInItsCellAlone(t *testing.T) {
	onShared(t, func(t *testing.T, d shared) {
		d.cfg = sealed(d.cfg, firstKey)
		s := open(t, d.cfg)
		every(t, s)
		read := map[string]func() error{
			"another row":    func() error { _, _, err := s.Run(t.Context(), "run-s1"); return err },
			"another column": func() error { _, _, err := s.Response(t.Context(), "run-s1-r"); return err },
			"another user's": func() error { _, err := s.Rules(t.Context(), "eve", "s1"); return err },
			"another token":  func() error { _, _, err := s.TokenByHash(t.Context(), strings.Repeat("cd", 32)); return err },
		}
		d.raw(t, `UPDATE runs SET body = (SELECT body FROM runs WHERE id = 'run-s2') WHERE id = 'run-s1'`,
			`UPDATE responses SET body = (SELECT body FROM interactions WHERE id = 'run-s1-i') WHERE id = 'run-s1-r'`,
			`UPDATE rules SET user_id = 'eve' WHERE id = 'rule-s1'`,
			`UPDATE tokens SET hash = '`+strings.Repeat("cd", 32)+`'`)
		for name, f := range read {
			if err := f(); !errors.Is(err, store.ErrTampered) || strings.Contains(err.Error(), private) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestWhereEncryptionIsRequiredNothingInClearCounts(t *testing.T) {
	onShared(t, func(t *testing.T, d shared) {
		s := open(t, sealed(d.cfg, firstKey))
		no(t, s.SaveRule(t.Context(), permission.Rule{ID: "own", Effect: permission.Allow, Pattern: "bash(ls)", UserID: "ann", CreatedAt: start}))
		d.raw(t, `INSERT INTO rules (id, user_id, session_id, created_at, effect, rule_key, body) VALUES ('put', 'ann', '', 1, 'allow', 'x',
			'{"id":"put","effect":"allow","pattern":"bash(*)","user_id":"ann"}')`)
		if rules, err := s.Rules(t.Context(), "ann", ""); err != nil || len(rules) != 2 {
			t.Fatalf("beside rows in clear: %v, %v", rules, err)
		}
		strict := sealed(d.cfg, firstKey)
		strict.Sealing = store.SealRequired
		s = open(t, strict)
		if rules, err := s.Rules(t.Context(), "ann", ""); !errors.Is(err, store.ErrClear) || rules != nil {
			t.Errorf("a rule that was put in: %v, %v", rules, err)
		}
		out, err := s.Reseal(t.Context(), func(store.Resealed) {})
		no(t, err)
		if len(out.Broken) != 1 || !strings.Contains(out.Broken[0], "rules.body put") {
			t.Errorf("resealing vouched for it: %+v", out)
		}
	})
}

// conformClear runs a test on an empty database of each shared kind.
func conformClear(t *testing.T, test func(t *testing.T, cfg store.Config)) {
	t.Helper()
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		test(t, store.Config{DSN: filepath.Join(t.TempDir(), "x.db")})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, store.Config{Driver: store.Postgres, DSN: pgtest.Database(t)})
	})
}

func TestTextThatLooksSealedIsText(t *testing.T) {
	conform(t, func(t *testing.T, s *store.Store) {
		addRun(t, s, "r1")
		const text = "sealed:k1:AAAA"
		no(t, s.Delta(t.Context(), "r1", event.StepDeltaData{Turn: 1, Text: text}))
		if got, err := s.Deltas(t.Context(), "r1", 0); err != nil || len(got) != 1 || got[0].Text != text {
			t.Errorf("read %v, %v", got, err)
		}
	})
}

// BenchmarkSealing is what a turn of a run costs the store, in clear and sealed.
func BenchmarkSealing(b *testing.B) {
	for name, cfg := range map[string]store.Config{"memory": {Driver: store.Memory}, "file": {}, "postgres": {Driver: store.Postgres}} {
		for _, sealing := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/sealed=%t", name, sealing), func(b *testing.B) {
				switch cfg := &cfg; cfg.Driver {
				case store.Postgres:
					cfg.DSN = pgtest.Database(b)
				case store.Memory:
				default:
					cfg.DSN = filepath.Join(b.TempDir(), "x.db")
				}
				if sealing {
					cfg = sealed(cfg, firstKey)
				}
				s := open(b, cfg)
				addRun(b, s, "r1")
				words := strings.Repeat("what a model says, and a tool returns ", 100)
				n := int64(0)
				for b.Loop() {
					n++
					write(b, s, func(ctx context.Context, tx *store.Tx) error {
						if err := tx.InsertStep(ctx, llm.Step{ID: interaction.StepID(fmt.Sprint(n)), RunID: "r1", SessionID: "s", Sequence: n, Message: llm.Message{Content: words}}); err != nil {
							return err
						}
						_, err := tx.AppendEvents(ctx, "r1", note("r1", words), note("r1", "short"), note("r1", "short"))
						return err
					})
					if _, _, err := s.Steps(b.Context(), "r1", 20, ""); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
