// Package compresstest lets tests look for words in what a database keeps.
package compresstest

import (
	"regexp"
	"testing"

	"holdpoint/internal/store/compress"
)

var compressed = regexp.MustCompile(`zstd[12]:[A-Za-z0-9+/]*`)

// begins tells compressed bytes, their mark and the head of their frame, from a hash, which can begin with NUL as well.
var begins = regexp.MustCompile(`(?s)^\x00(\x01?\x28\xb5\x2f\xfd|\x02.\x02)`)

// Expand returns a value of a database, or a dump of text, with all that is compressed as it was before. The ids that stand beside
// a value are left out of it.
func Expand(t testing.TB, dump string) string {
	t.Helper()
	if begins.MatchString(dump) {
		text, err := compress.FromBytes([]byte(dump), "")
		if err != nil {
			t.Errorf("%.80q: %v", dump, err)
		}
		return text
	}
	return compressed.ReplaceAllStringFunc(dump, func(stored string) string {
		text, err := compress.FromText(stored)
		if err != nil {
			t.Errorf("%.80s: %v", stored, err)
		}
		return text
	})
}
