package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdpoint/llm"
	"holdpoint/llm/wire"
)

func turn(ids ...string) []llm.ToolCall {
	var out []llm.ToolCall
	for _, id := range ids {
		out = append(out, llm.ToolCall{ProviderID: id})
	}
	return out
}

func TestIDsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		ids   wire.IDs
		turns [][]string
		want  [][]string
	}{
		{"in order", wire.IDs{Whole: true, Plain: true}, [][]string{{"a", "b"}, {"c"}}, [][]string{{"a", "b"}, {"c"}}},
		{"again in another turn", wire.IDs{}, [][]string{{"a"}, {"a"}}, [][]string{{"a"}, {"a"}}},
		{"again in another turn, whole", wire.IDs{Whole: true}, [][]string{{"a"}, {"a"}, {"a"}}, [][]string{{"a"}, {"a_1"}, {"a_2"}}},
		{"again in a turn", wire.IDs{}, [][]string{{"a", "a", "a_2", ""}}, [][]string{{"a", "a_3", "a_2", "call_4"}}},
		{"a made-up id that a later turn has", wire.IDs{Whole: true}, [][]string{{"a"}, {"a"}, {"a_1"}}, [][]string{{"a"}, {"a_1"}, {"a_1_1"}}},
		{"odd ones that become alike", wire.IDs{Plain: true}, [][]string{{"a:b", "a/b", "a_b"}}, [][]string{{"a_b", "a_b_2", "a_b_3"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ids := tc.ids
			var got [][]string
			for _, ids1 := range tc.turns {
				got = append(got, ids.Turn(turn(ids1...)))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOneIDInEveryTurnIsNotSlow would run for minutes if each turn counted from the start.
func TestOneIDInEveryTurnIsNotSlow(t *testing.T) {
	t.Parallel()
	ids := wire.IDs{Whole: true}
	seen := map[string]bool{}
	for range 100_000 {
		for _, id := range ids.Turn(turn("call_0", "call_0")) {
			if seen[id] {
				t.Fatalf("%s comes twice", id)
			}
			seen[id] = true
		}
	}
}

func TestArgumentsOnTheWireAreAnObject(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"": `{}`, `{"a": 1}`: `{"a": 1}`, `null`: `{"invalid_arguments":"null"}`, `{"a"`: `{"invalid_arguments":"{\"a\""}`,
	} {
		if got := wire.Args(args); got != want {
			t.Errorf("%q: got %s, want %s", args, got, want)
		}
	}
}

func TestNamesOnTheWire(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"my.tool": true}
	long := strings.Repeat("n", 64)
	for name, want := range map[string]string{"my.tool": "my.tool", "a.b": "a_b", "": "unnamed", long + "n": long} {
		if got := wire.Name(name, known); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
}
