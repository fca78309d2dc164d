// Package compresstest lets tests look for words in what a database keeps.
package compresstest

import (
	"regexp"
	"testing"

	"holdpoint/internal/store/compress"
)

var compressed = regexp.MustCompile(compress.Prefix + `[A-Za-z0-9+/]*`)

// Expand returns a dump of a database with every compressed value as it was before.
func Expand(t testing.TB, dump string) string {
	t.Helper()
	return compressed.ReplaceAllStringFunc(dump, func(stored string) string {
		text, err := compress.FromText(stored)
		if err != nil {
			t.Errorf("%.80s: %v", stored, err)
		}
		return text
	})
}
