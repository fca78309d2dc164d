// Package compresstest lets tests look for words in what a database keeps.
package compresstest

import (
	"regexp"
	"strings"
	"testing"

	"holdpoint/internal/store/compress"
)

var compressed = regexp.MustCompile(compress.Prefix + `[A-Za-z0-9+/]*`)

// zstd begins every frame. A hash can begin with NUL, as compressed bytes do.
const zstd = "\x28\xb5\x2f\xfd"

// Expand returns a value of a database, or a dump of text, with all that is compressed as it was before. The ids that stand beside
// a value are left out of it.
func Expand(t testing.TB, dump string) string {
	t.Helper()
	if rest := strings.TrimPrefix(strings.TrimPrefix(dump, "\x00"), "\x01"); rest != dump && strings.HasPrefix(rest, zstd) {
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
