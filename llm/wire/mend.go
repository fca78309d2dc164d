package wire

import (
	"encoding/json"
	"fmt"
	"regexp"

	"holdpoint/llm"
)

var odd = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// maxName is how long a function's name may be on the wire.
const maxName = 64

// Name is a past call's name as endpoints accept it. The names of tools on offer, which are the known ones, are
// left alone: what the endpoint thinks of them shows with the definitions.
func Name(name string, known map[string]bool) string {
	if known[name] {
		return name
	}
	name = odd.ReplaceAllLiteralString(name, "_")
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), maxName)]
}

// Args are a past call's arguments as a JSON object, which many endpoints insist on.
func Args(args string) string {
	if args == "" {
		return "{}"
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &object) == nil && object != nil {
		return args
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": args})
	if err != nil { // a map of strings always encodes
		return "{}"
	}
	return string(wrapped)
}

// IDs gives calls their ids on the wire. Its zero value makes them unique within a turn.
type IDs struct {
	// Whole makes ids unique in the whole transcript.
	Whole bool
	// Plain keeps to letters, digits, _ and -. Long ids are cut.
	Plain bool

	used map[string]bool
	next map[string]int // where to go on counting, by id: a provider may use one id in every turn
}

// Turn returns the ids of one turn's calls. Ids that are in order stay as they are, and what a turn gets does
// not depend on later ones.
func (g *IDs) Turn(calls []llm.ToolCall) []string {
	if g.used == nil || !g.Whole {
		g.used, g.next = map[string]bool{}, map[string]int{}
	}
	taken := map[string]bool{"": true}
	for _, call := range calls {
		taken[g.plain(call.ProviderID)] = true
	}
	ids := make([]string, len(calls))
	for i, call := range calls {
		ids[i] = g.one(g.plain(call.ProviderID), i+1, taken)
	}
	return ids
}

// one is an id that was not used before; a new one is not among those that are taken.
func (g *IDs) one(id string, n int, taken map[string]bool) string {
	stem := id
	if stem == "" {
		stem = "call"
	}
	for n = max(n, g.next[stem]); id == "" || g.used[id]; n++ {
		if next := fmt.Sprintf("%s_%d", stem, n); !taken[next] && !g.used[next] {
			id = next
			g.next[stem] = n + 1
		}
	}
	g.used[id] = true
	return id
}

func (g *IDs) plain(id string) string {
	if !g.Plain {
		return id
	}
	id = odd.ReplaceAllLiteralString(id, "_")
	return id[:min(len(id), maxName)]
}
