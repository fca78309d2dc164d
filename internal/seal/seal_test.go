package seal_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"

	"holdpoint/internal/seal"
)

func mustParse(t testing.TB, text string) *seal.Ring {
	t.Helper()
	r, err := seal.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestKeysAreReadAndMistakesNamed(t *testing.T) {
	t.Parallel()
	a, b := seal.NewKey("2027-01"), seal.NewKey("2026-06")
	for _, text := range []string{a, a + "," + b, "# ours\n" + a + "\n\n" + b + "\n", " " + a + " , " + b + " "} {
		if got := mustParse(t, text).Active(); got != "2027-01" {
			t.Errorf("%q seals with %q", text, got)
		}
	}
	_, secret, _ := strings.Cut(a, ":")
	for text, want := range map[string]string{
		"":                           "there is no key",
		"# nothing":                  "there is no key",
		secret:                       "entry 1 is no key",
		a + ",x y:" + secret:         "entry 2 is no key",
		"k:" + secret[:20]:           "key k must be 32 bytes",
		"k:" + secret + "AAAA":       "key k must be 32 bytes",
		a + "\n" + a:                 "key 2027-01 comes twice",
		"k:" + secret + ";" + secret: "key k must be",
	} {
		_, err := seal.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret[:12]) {
			t.Errorf("%q: %v; want %q and no part of a key", text, err, want)
		}
	}
}

func TestKeysComeFromOnePlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(seal.NewKey("filed")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		env    map[string]string
		active string
		wrong  string
	}{
		"none":                     {},
		"blank":                    {env: map[string]string{seal.EnvKeys: " "}},
		"environment":              {env: map[string]string{seal.EnvKeys: seal.NewKey("k1")}, active: "k1"},
		"file":                     {env: map[string]string{seal.EnvFile: file}, active: "filed"},
		"command":                  {env: map[string]string{seal.EnvCommand: "cat " + file}, active: "filed"},
		"a file that is not there": {env: map[string]string{seal.EnvFile: file + "x"}, wrong: seal.EnvFile},
		"a command that fails":     {env: map[string]string{seal.EnvCommand: "false"}, wrong: seal.EnvCommand},
		"two places":               {env: map[string]string{seal.EnvFile: file, seal.EnvKeys: seal.NewKey("k1")}, wrong: "set one of them"},
		"a bad key":                {env: map[string]string{seal.EnvKeys: "k:AAAA"}, wrong: seal.EnvKeys},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := seal.Load(context.Background(), func(n string) (string, bool) { v, ok := tt.env[n]; return v, ok })
			switch {
			case tt.wrong != "":
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("got %v, want an error about %s", err, tt.wrong)
				}
			case err != nil:
				t.Error(err)
			case tt.active == "" && r != nil:
				t.Error("a ring of no keys")
			case tt.active != "" && (r == nil || r.Active() != tt.active):
				t.Errorf("got %+v, want key %s", r, tt.active)
			}
		})
	}
}

func TestOnlyWhatWasSealedThereOpens(t *testing.T) {
	t.Parallel()
	old := seal.NewKey("old")
	ring := mustParse(t, old)
	id, sealed := ring.Seal([]byte("the plan"), "here")
	if bytes.Contains(sealed, []byte("plan")) {
		t.Fatal("it is in clear")
	}
	next := mustParse(t, seal.NewKey("new")+","+old)
	if plain, err := next.Open(id, sealed, "here"); err != nil || string(plain) != "the plan" {
		t.Errorf("after a new key: %q, %v", plain, err)
	}
	if _, err := next.Open(id, sealed, "there"); err == nil {
		t.Error("it opens elsewhere")
	}
	if _, err := mustParse(t, seal.NewKey("old")).Open(id, sealed, "here"); err == nil {
		t.Error("it opens with another key of the same name")
	}
	if _, err := mustParse(t, seal.NewKey("new")).Open(id, sealed, "here"); !errors.Is(err, seal.ErrUnknownKey) {
		t.Errorf("without its key: %v", err)
	}
	for n := range sealed {
		changed := bytes.Clone(sealed)
		changed[n] ^= 1
		if _, err := ring.Open(id, changed, "here"); err == nil {
			t.Errorf("it opens with byte %d changed", n)
		}
	}
}

func FuzzOpen(f *testing.F) {
	codec := seal.NewCodec(mustParse(f, "k:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="))
	whole, err := codec.Encode([]*commonpb.Payload{{Data: []byte("x")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("binary/encrypted"), []byte("k"), whole[0].Data)
	f.Add([]byte("binary/encrypted"), []byte("other"), []byte{})
	f.Add([]byte("json/plain"), []byte(nil), []byte("1"))
	f.Fuzz(func(t *testing.T, encoding, id, data []byte) {
		in := &commonpb.Payload{Metadata: map[string][]byte{"encoding": encoding, "encryption-key-id": id}, Data: data}
		out, err := codec.Decode([]*commonpb.Payload{in})
		sealed := string(encoding) == "binary/encrypted"
		switch {
		case !sealed && (err != nil || out[0] != in):
			t.Errorf("what was not sealed became %v, %v", out, err)
		case sealed && err == nil && !bytes.Equal(data, whole[0].Data):
			t.Errorf("what nobody sealed opens: %q", data)
		}
	})
}

func TestAHistoryThatCannotBeOpenedNamesItsKey(t *testing.T) {
	t.Parallel()
	ours, others := mustParse(t, seal.NewKey("ours")), mustParse(t, seal.NewKey("others"))
	same := mustParse(t, seal.NewKey("ours")) // another key of the same name
	sealed, err := ours.Converter().ToPayloads("what was said")
	if err != nil {
		t.Fatal(err)
	}
	h := &historypb.History{Events: []*historypb.HistoryEvent{{Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: sealed}}}}}
	if err := ours.Opens(h); err != nil {
		t.Error(err)
	}
	for name, r := range map[string]*seal.Ring{"no keys": nil, "another key": others, "another key of its name": same} {
		if err := r.Opens(h); err == nil || !strings.Contains(err.Error(), "ours") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
