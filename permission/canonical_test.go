package permission_test

import (
	"testing"

	"holdpoint/permission"
)

func TestCanonicalArgs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		a, b string
		same bool
	}{
		"order and blanks":     {`{"b":1,"a":[true, null]}`, ` { "a" : [true,null], "b": 1 }`, true},
		"a number's spelling":  {`{"n":1.0}`, `{"n":1}`, true},
		"an escape":            {`{"s":"\u0061"}`, `{"s":"a"}`, true},
		"text is no number":    {`{"n":"1"}`, `{"n":1}`, false},
		"the order of a list":  {`{"l":[1,2]}`, `{"l":[2,1]}`, false},
		"absent and null":      {`{}`, `{"a":null}`, false},
		"a name that is twice": {`{"a":1,"a":1}`, `{"a":1,"a":1}`, false},
		"no object":            {`[]`, `[]`, false},
	} {
		x, okX := permission.CanonicalArgs([]byte(tc.a))
		y, okY := permission.CanonicalArgs([]byte(tc.b))
		if same := okX && okY && x == y; same != tc.same {
			t.Errorf("%s: %q (%t) and %q (%t), want the same: %t", name, x, okX, y, okY, tc.same)
		}
	}
}
