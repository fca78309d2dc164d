package compress_test

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"holdpoint/internal/store/compress"
)

// key is what stands beside a value.
const key = "0193a7f0-5b0e-7c3a-9f57-2f0a5f1f6a11"

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func FuzzATextComesBack(f *testing.F) {
	f.Add("")
	f.Add(`{"run_id":"r1","session_id":"s1","status":"pending","options":[{"id":"approve","label":"Approve","description":"Run it exactly as shown.","action":"approve"}]}`)
	f.Add(strings.Repeat("a", 3000))
	f.Add("zstd3:" + strings.Repeat("A", 300))
	f.Add("b\x00\xff" + strings.Repeat("b", 300))
	f.Add(strings.Repeat(key, 20))
	f.Add(strings.Repeat(key+"\x01", 20))
	f.Add(strings.Repeat("\x02\x03\x04\x05\x06"+key[1:]+key+"0"+key, 20))
	f.Add(strings.Repeat("2026-11-29T04:00:00Z 2026-11-29T04:00:00.1Z 2026-11-29T04:00:00.123456789Z 2026-11-29T04:00:00.10Z 2026-02-30T04:00:00Z 0001-01-01T00:00:00Z 9999-12-31T00:00:00Z 2026-11-29T04:00:00+01:00 2026-11-29T04:00:60Z ", 3))
	f.Add(strings.Repeat(strings.Repeat("0f", 16)+"g"+strings.Repeat("0f", 32)+"g"+strings.Repeat("0f", 50), 5))
	f.Fuzz(func(t *testing.T, text string) {
		if compress.Begins(text) || strings.HasPrefix(text, "\x00") {
			return
		}
		stored := compress.Text(text)
		if got, err := compress.FromText(stored); err != nil || got != text {
			t.Fatalf("text: got %q, %v; want %q", got, err, text)
		}
		if stored != text && strings.Trim(stored, base64Alphabet+":") != "" {
			t.Fatalf("%q is no text that every database takes", stored)
		}
		if len(stored) > len(text) {
			t.Fatalf("%q became longer", text)
		}
		for _, key := range []string{"", key, "a"} {
			b := compress.Bytes(text, key)
			if got, err := compress.FromBytes(b, key); err != nil || got != text {
				t.Fatalf("bytes: got %q, %v; want %q", got, err, text)
			}
			if len(b) > len(text) || !compress.Compressed(b) && string(b) != text {
				t.Fatalf("%q became longer, or another: %q", text, b)
			}
		}
	})
}

func FuzzAnyFrameIsATextOrAnError(f *testing.F) {
	f.Add([]byte("x"))
	for _, text := range []string{strings.Repeat("a", 300), strings.Repeat("ab", 300), strings.Repeat(key, 20), strings.Repeat("0f", 64)} {
		f.Add(compress.Bytes(text, "")[2:])
		f.Add(compress.Bytes(text, "a")[2:])
	}
	f.Add(slices.Concat(compress.Bytes(strings.Repeat("a", 300), "")[2:], compress.Bytes(strings.Repeat("b", 300), "")[2:]))
	f.Fuzz(func(t *testing.T, frame []byte) {
		coded := base64.RawStdEncoding.EncodeToString(frame)
		for prefix, mark := range map[string]string{"zstd1:": "\x00", compress.Prefix: "\x00\x02"} {
			text, err := compress.FromText(prefix + coded)
			if err != nil && text != "" || len(text) > compress.MaxLength {
				t.Fatalf("%q, %v", text, err)
			}
			if mark == "\x00" && len(frame) > 0 && frame[0] <= 2 { // a mark itself
				continue
			}
			same, sameErr := compress.FromBytes(append([]byte(mark), frame...), "")
			if text != same || (err == nil) != (sameErr == nil) {
				t.Fatalf("%q, %v; %q, %v", text, err, same, sameErr)
			}
			if beside, err := compress.FromBytes(append([]byte(mark), frame...), key); err != nil && beside != "" || len(beside) > compress.MaxLength {
				t.Fatalf("%q, %v", beside, err)
			}
		}
	})
}

func TestAKeyBesideTheValueIsNotStoredInIt(t *testing.T) {
	t.Parallel()
	text := `{"run_id":"` + key + `","workflow_id":"` + key + `","input":"` + strings.Repeat("what is to be done, ", 8) + `"}`
	with, without := compress.Bytes(text, key), compress.Bytes(text, "")
	if len(with)+len(key)/2 > len(without) {
		t.Errorf("%d bytes with the key beside it, %d without", len(with), len(without))
	}
	if got, err := compress.FromBytes(with, "another"); err != nil || got == text {
		t.Errorf("the text came back beside another key: %q, %v", got, err)
	}
}

func TestAKeyThatStandsOftenDoesNotMakeAHugeText(t *testing.T) {
	t.Parallel()
	b := compress.Bytes(strings.Repeat("k", 1<<20), "k")
	if text, err := compress.FromBytes(b, strings.Repeat("k", 100)); err == nil {
		t.Errorf("%d bytes became %d", len(b), len(text))
	}
}

func TestWhatWasCompressedOnceIsReadForEver(t *testing.T) {
	t.Parallel()
	for want, stored := range map[string]struct{ text, bytes, beside string }{
		`{"run_id":"r1","session_id":"s1","workflow_id":"session-s1","agent":"coder","user_id":"alice","requester":"alice","input":"ship it","status":"awaiting_human","started_at":"2026-11-29T04:00:00Z"}`: {
			"zstd1:KLUv/SEBwp0CAEQCcnMxczEiOnNoaXBhd2FpdGluZzExLTI5VDA0OjAwOjAwWiJ9DwA348F5WRj2SliGG7QyBG4IpN4GEVEbtB4Hc3gZv4zAP1vYMyZiAON2xgsC",
			"ACi1L/0hAcKdAgBEAnJzMXMxIjpzaGlwYXdhaXRpbmcxMS0yOVQwNDowMDowMFoifQ8AN+PBeVkY9kpYhhu0MgRuCKTeBhFRG7QeB3N4Gb+MwD9b2DMmYgDjdsYLAg",
			"AAEotS/9IQHBhQIARAIBczFzMSI6c2hpcGF3YWl0aW5nMTEtMjlUMDQ6MDA6MDBaIn0OADbjgXlZ+PVKUIYbpDIEbgig3oYQURuwHgdyeBm7jMA+W5BniHeGsQI"},
		`{"run_id":"r1","session_id":"0193a7f0-5b0e-7c3a-9f57-2f0a5f1f6a11","workflow_id":"session-0193a7f0-5b0e-7c3a-9f57-2f0a5f1f6a11","agent":"coder","agent_digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","user_id":"alice","requester":"alice","input":"ship it","status":"awaiting_human","started_at":"2026-11-29T04:00:00.123456Z"}`: {
			"zstd2:YQIIAA0EAFQEcgIBk6fwWw58Op9XLwpfH2oRIjoD47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFUic2hpcAUY7GgXKqxKACJ9EgD3cgScmTX4MzUUm+bov7UBgBJIv3UDkZc7j7UCL0NAgKuJoI2maAiW48HaOHnhygY+6Ix7FeMEAQ",
			"AAJhAggADQQAVARyAgGTp/BbDnw6n1cvCl8fahEiOgPjsMRCmPwcFJr79MiZb7kkJ65B5GSbk0yklZkbeFK4VSJzaGlwBRjsaBcqrEoAIn0SAPdyBJyZNfgzNRSb5ui/tQGAEki/dQORlzuPtQIvQ0CAq4mgjaZoCJbjwdo4eeHKBj7ojHsV4wQB",
			"AAJhAgcAzQMARAQCAZOn8FsOfDqfVy8KXx9qESI6A+OwxEKY/BwUmvv0yJlvuSQnrkHkZJuTTKSVmRt4UrhVInNoaXAFGOxoFyqsSgAifRAA9nIEmJk18DM19Jrm4L+14f8IoN+6gcTLnb9aAZchAMDVRNBGUzQAy/EgbZxsX4U5QA"},
	} {
		got, err := compress.FromText(stored.text)
		if err != nil || got != want {
			t.Errorf("got %q, %v: a dictionary has changed, or zstd: databases that were written before can't be read", got, err)
		}
		for key, coded := range map[string]string{"": stored.bytes, "r1": stored.beside} {
			b, err := base64.RawStdEncoding.DecodeString(coded)
			if err == nil {
				got, err = compress.FromBytes(b, key)
			}
			if err != nil || got != want {
				t.Errorf("bytes beside %q: got %q, %v", key, got, err)
			}
		}
	}
}

func TestIdsTimesAndHashesTakeLittleMoreThanTheirBytes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"ids":    "0193a7f0-5b0e-7c3a-9f57-2f0a5f1f6a11 7f0c5a9e-3c0b-5d0e-9a55-5b5f0c1f7d10 5b0e93a7-a701-4c3a-8f57-f6a112f0a5f1",
		"times":  "2026-11-29T04:00:00.123456789Z 2027-01-30T14:10:40.987654321Z 2025-03-12T23:59:59.192837465Z",
		"hashes": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	} {
		if n := len(compress.Bytes(text, "")); n > len(text)*2/3 {
			t.Errorf("%s: %d bytes for %d", name, n, len(text))
		}
	}
}

func TestTheFieldsOfARecordAreNotStoredAgainAndAgain(t *testing.T) {
	t.Parallel()
	const record = `{"id":"0193a7f0-5b0e-7c3a-9f57-2f0a5f1f6a11-1-1-1","run_id":"0193a7f0-5b0e-7c3a-9f57-2f0a5f1f6a11","type":"tool_approval","kind":"permission","options":[{"id":"approve","label":"Approve","description":"Run it exactly as shown.","action":"approve"},{"id":"modify_args","label":"Edit and approve","description":"Run it with your arguments.","action":"modify_args","requires_input":true},{"id":"reject","label":"Reject","description":"Do not run it; the agent goes on.","action":"reject"}],"status":"pending"}`
	if n := len(compress.Text(record)); n > len(record)/2 {
		t.Errorf("text: %d bytes for %d", n, len(record))
	}
	if n := len(compress.Bytes(record, "")); n > len(record)/3 {
		t.Errorf("bytes: %d bytes for %d", n, len(record))
	}
}

func TestASmallValueDoesNotBecomeAHugeOne(t *testing.T) {
	t.Parallel()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false))
	if err != nil {
		t.Fatal(err)
	}
	for name, bomb := range map[string][]byte{
		"one frame":   w.EncodeAll(make([]byte, compress.MaxLength+1), nil),
		"many frames": bytes.Repeat(w.EncodeAll(make([]byte, 1<<20), nil), compress.MaxLength>>20+1),
	} {
		text, err := compress.FromText(compress.Prefix + base64.RawStdEncoding.EncodeToString(bomb))
		if err == nil {
			t.Errorf("%s of %d bytes became %d", name, len(bomb), len(text))
		}
	}
}

func BenchmarkText(b *testing.B) {
	const record = `{"interaction_id":"0193a7f0-5b0e-7c3a-9f57-2f0a5f1f6a11-1-1-1","tool_call_id":"0193a7f0-5b0e-7c3a-9f57-2f0a5f1f6a11-1-1","status":"answered","action":"approve","responses":[{"id":"0193a7f0-5b0e-7c3a-9f57-2f0a5f1f6a12","request_id":"0193a7f0-5b0e-7c3a-9f57-2f0a5f1f6a11-1-1-1","action":"approve","reviewer":{"id":"alice"},"responded_at":"2026-11-29T04:00:00Z"}]}`
	stored := compress.Text(record)
	b.Run("compress", func(b *testing.B) {
		for b.Loop() {
			compress.Text(record)
		}
	})
	b.Run("decompress", func(b *testing.B) {
		for b.Loop() {
			_, _ = compress.FromText(stored)
		}
	})
	b.ReportMetric(float64(len(stored))/float64(len(record)), "ratio")
}
