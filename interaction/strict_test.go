package interaction_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
)

type embedded struct {
	Shared string `json:"shared"`
}

type sample struct {
	embedded
	Name   string                    `json:"name"`
	Count  int8                      `json:"count,omitempty"`
	Yes    *bool                     `json:"yes"`
	List   []sample                  `json:"list"`
	Pair   [2]int                    `json:"pair"`
	Map    map[string]sample         `json:"map"`
	Raw    json.RawMessage           `json:"raw"`
	Any    any                       `json:"any"`
	At     time.Time                 `json:"at"`
	Free   map[string]map[string]any `json:"free"`
	Plain  string
	Hidden string `json:"-"`
	secret string
}

func TestStrictTakes(t *testing.T) {
	t.Parallel()
	const text = ` {"name":"a\u0062","count":-5,"yes":false,"list":[{"name":"in"},{"list":[]}],"pair":[1,2],
		"map":{"x":{"yes":null}},"raw":{"b":[1,{"c":null}]},"any":[1,"two",{"three":3}],"at":"2026-05-04T09:00:00Z",
		"free":{"a":{"b":{"c":1}}},"Plain":"p","shared":"s"}
		`
	var s sample
	if err := interaction.Strict([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if s.Name != "ab" || s.Count != -5 || s.Yes == nil || *s.Yes || s.List[0].Name != "in" || s.Pair[1] != 2 || s.Plain != "p" ||
		s.Shared != "s" || string(s.Raw) != `{"b":[1,{"c":null}]}` || !s.At.Equal(t0) || s.secret != "" {
		t.Errorf("decoded %+v", s)
	}
}

func TestStrictRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, interaction.MaxDepth) + "1" + strings.Repeat("}", interaction.MaxDepth)
	for _, tt := range []struct{ name, text, field, message string }{
		{"nothing", ``, "", "is empty; send a JSON object"},
		{"space", " \n", "", "is empty"},
		{"null", `null`, "", "must be a JSON object, not null"},
		{"a list", `[]`, "", "must be a JSON object, not a list"},
		{"a string", `"x"`, "", `must be a JSON object, not the string "x"`},
		{"a number", `12`, "", "must be a JSON object, not 12"},
		{"an open object", `{"name":"x"`, "", "is not one JSON value: unexpected end of JSON input, at byte 11"},
		{"something after it", `{"name":"x"} {}`, "", "is not one JSON value: invalid character '{' after top-level value"},
		{"a comment", `{/**/}`, "", "is not one JSON value"},
		{"bytes that are not UTF-8", "{\"name\":\"\xff\"}", "", "is not UTF-8"},
		{"an unknown field", `{"nam":"x"}`, "nam", "is no field here; fields are shared, name, count"},
		{"another case", `{"Name":"x"}`, "Name", "is no field here"},
		{"a field hidden by its tag", `{"Hidden":"x"}`, "Hidden", "is no field here"},
		{"a field of no name", `{"":1}`, `""`, "is no field here"},
		{"a field with an odd name", `{"a b\u001b":1}`, `"a b\x1b"`, "is no field here"},
		{"a field with a long name", `{"` + strings.Repeat("n", 1000) + `":1}`, `"` + strings.Repeat("n", 64) + `"`, "is no field here"},
		{"an unknown field far inside", `{"list":[{},{"map":{"k":{"x":1}}}]}`, "list[1].map.k.x", "is no field here"},
		{"a key twice", `{"name":"x","name":"y"}`, "name", "comes twice in one object"},
		{"a key twice after unescaping", `{"name":"x","n\u0061me":"y"}`, "name", "comes twice"},
		{"a key twice in free data", `{"raw":{"a":[{"b":1,"b":2}]}}`, "raw.a[0].b", "comes twice"},
		{"a key twice in a map", `{"map":{"k":{},"k":{}}}`, "map.k", "comes twice"},
		{"a number for a string", `{"name":1}`, "name", "must be a string, not 1"},
		{"a string for a number", `{"count":"six"}`, "count", `must be a fitting int8, not the string "six"`},
		{"a number that does not fit", `{"count":300}`, "count", "must be a fitting int8, not 300"},
		{"a fraction for a whole number", `{"count":1.5}`, "count", "not 1.5"},
		{"a word for a truth", `{"yes":"no"}`, "yes", `must be true or false, not the string "no"`},
		{"an object for a string", `{"name":{}}`, "name", "must be a string, not an object"},
		{"a list for a string", `{"name":[]}`, "name", "must be a string, not a list"},
		{"a list for an object", `{"map":[]}`, "map", "must be an object, not a list"},
		{"an object for a list", `{"list":{}}`, "list", "must be a list, not an object"},
		{"a truth for a list", `{"list": true }`, "list", "must be a list, not true"},
		{"an object for a pair", `{"pair":{}}`, "pair", "must be a list, not an object"},
		{"a day for a time", `{"at":"today"}`, "at", `must be a time such as 2026-01-31T15:04:05Z, not the string "today"`},
		{"an object for a time", `{"at":{"y":1}}`, "at", "must be a time such as 2026-01-31T15:04:05Z, not an object"},
		{"too deep", `{"raw":` + deep + `}`, "raw" + strings.Repeat(".a", interaction.MaxDepth-1), "nests deeper than 32 levels"},
		{"much too deep", strings.Repeat("[", 20000), "", "is not one JSON value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := sample{Name: "as it was"}
			wantError(t, interaction.Strict([]byte(tt.text), &s), interaction.CodeInvalid, tt.field, tt.message)
			if s.Name != "as it was" || s.Raw != nil {
				t.Errorf("a refused text left %+v", s)
			}
		})
	}
}

func TestStrictTakesTheDeepestThatIsAllowed(t *testing.T) {
	t.Parallel()
	var v any
	text := strings.Repeat(`{"a":`, interaction.MaxDepth) + "1" + strings.Repeat("}", interaction.MaxDepth)
	wantError(t, interaction.Strict([]byte(text), &v), "", "", "")
}

func TestStrictIntoWhatCanNotBeDecodedInto(t *testing.T) {
	t.Parallel()
	for _, v := range []any{nil, sample{}, (*sample)(nil)} {
		wantError(t, interaction.Strict([]byte(`{}`), v), interaction.CodeInvalid, "", "can't be decoded")
	}
}
