package store

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzRawTextComesBack(f *testing.F) {
	for _, s := range []string{"", "{}", "{ \"a\": 1 }", "\x00", "\xff", "base64:", "base64:!", "base64:eA==", "sealed:k1:eA==", "zstd1:eA", "zstd2:eA", "\u2028<&>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := encodeRaw(b)
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			t.Fatalf("%q is no text that every database takes", s)
		}
		got, err := decodeRaw(s)
		if err != nil || string(got) != string(b) {
			t.Fatalf("got %q, %v; want %q", got, err, b)
		}
		packed := pack(b)
		if len(b) > 0 && !json.Valid(packed) {
			t.Fatalf("%q is not JSON", packed)
		}
		if err := unpack(&packed); err != nil || string(packed) != string(b) {
			t.Fatalf("packed: got %q, %v; want %q", packed, err, b)
		}
	})
}

func FuzzPageTokens(f *testing.F) {
	p := page{at: place{List: "runs", Filter: sum([]string{"a"})}}
	f.Add(p.token(1, "r1"))
	f.Add("")
	f.Add("e30")
	f.Add("!")
	f.Fuzz(func(t *testing.T, token string) {
		got, err := openPage("runs", 0, token, "a")
		if err == nil && token != "" && (got.at.List != "runs" || !got.started) {
			t.Fatalf("%q was taken as %+v", token, got)
		}
	})
}

func TestBindNumbersPlaceholders(t *testing.T) {
	t.Parallel()
	const query = "INSERT INTO t (a, b) VALUES (?, ?) ON CONFLICT (a) DO UPDATE SET b = ?"
	if got := sqliteDialect.bind(query); got != query {
		t.Errorf("SQLite: %s", got)
	}
	numbered := &dialect{numbered: true}
	if got, want := numbered.bind(query), "INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT (a) DO UPDATE SET b = $3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUnreadableRowsAreErrors(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no JSON":     `{`,
		"args":        `{"call":{"args":1}}`,
		"args coded":  `{"call":{"args":"base64:!"}}`,
		"decision":    `{"decision":[]}`,
		"answer":      `{"call":{"answer":{"data":{}}}}`,
		"answer deep": `{"call":{"answer":{"responses":[{"args":true}]}}}`,
	} {
		if _, err := (queries{}).decodeRecord("1", body); err == nil {
			t.Errorf("%s: %s was read as a call", name, body)
		}
	}
	for name, body := range map[string]string{
		"no JSON":  `{`,
		"args":     `{"request":{"tool_args":1}}`,
		"part":     `{"request":{"interactions":[{"tool_args":1}]}}`,
		"response": `{"responses":[{"args":1}]}`,
	} {
		if _, err := (queries{}).decodeInteraction("1", body); err == nil {
			t.Errorf("%s: %s was read as an interaction", name, body)
		}
	}
}
