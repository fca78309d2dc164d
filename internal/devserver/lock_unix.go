//go:build unix

package devserver

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes an advisory lock that belongs to the open file, which a child inherits and which the kernel
// drops when the last process that has the file open is gone.
func tryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
