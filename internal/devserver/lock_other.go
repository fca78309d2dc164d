//go:build !unix

package devserver

import "os"

// tryLock takes no lock where there is none to inherit; SQLite's own locking is what is left.
func tryLock(*os.File) error { return nil }
