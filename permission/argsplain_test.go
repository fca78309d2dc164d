package permission

import (
	"reflect"
	"testing"
)

func TestPlainArgumentsReadTheShortWayAreTheSame(t *testing.T) {
	t.Parallel()
	short := 0
	for _, v := range loadVectors(t, "vectors.jsonl") {
		short += agreeOn(t, v.Args)
	}
	for _, raw := range plainSeeds {
		agreeOn(t, []byte(raw))
	}
	if short < 100 {
		t.Errorf("only %d vectors were read the short way", short)
	}
}

var plainSeeds = []string{`{}`, ` { "a" : "b" , "c":"d\n\"\\\/\b\f\r\t" } `, `{"a":"é"}`, "{\"a\":\"\xff\"}", `{"a":"\u0061"}`, `{"a":"b"}x`,
	`{"a":"b",}`, `{"a":"b" "c":"d"}`, `{"a":"b","a":"c"}`, `{"a":1}`, `{"a":"b`, `{"a":"b\`, `{"a":"b\"`, `{"a":"\x"}`, "{\"a\":\"\n\"}", `{,}`, `[]`, ``, `{"a"}`, `{"a":}`,
	`{"1":"","2":"","3":"","4":"","5":"","6":"","7":"","8":""}`, `{"1":"","2":"","3":"","4":"","5":"","6":"","7":"","8":"","9":""}`}

// agreeOn gives 1 if the short way took the arguments; what it takes, the long way reads the same.
func agreeOn(t *testing.T, raw []byte) int {
	t.Helper()
	got, ok := plainMembers(raw)
	if !ok {
		return 0
	}
	want := longArgs(raw)
	if want.fault != "" || len(got) != len(want.members) || len(got) > 0 && !reflect.DeepEqual(got, want.members) {
		t.Errorf("%q: %v the short way, %v (%s) the long", raw, got, want.members, want.fault)
	}
	return 1
}

func FuzzArguments(f *testing.F) {
	for _, raw := range plainSeeds {
		f.Add([]byte(raw))
	}
	for _, v := range loadVectors(f, "vectors.jsonl") {
		f.Add([]byte(v.Args))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		agreeOn(t, raw)
		a := decodeArgs(raw)
		if canon, ok := CanonicalArgs(raw); ok {
			if again, ok := CanonicalArgs([]byte(canon)); !ok || again != canon {
				t.Fatalf("%q is %q in canonical form, and that is %q", raw, canon, again)
			}
		} else if a.fault == "" {
			t.Fatalf("%q has no fault and no canonical form", raw)
		}
	})
}
