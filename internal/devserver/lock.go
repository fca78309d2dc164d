package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// lockWait is how long Start waits for a lock: a server whose parent was killed a moment ago is still ending.
const lockWait = 5 * time.Second

// InUseError says that another dev server has the database file.
type InUseError struct {
	DBFile string
	// PID is the process of that server, 0 when it is not known yet.
	PID int
}

// Error says how to mend it.
func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("the Temporal dev server with process id %d", e.PID)
	}
	return fmt.Sprintf("the database %s is in use by %s: stop that one first, or use another directory for the data", e.DBFile, who)
}

// lock is held on a file beside the database. The server's process inherits it, so that it lasts exactly as
// long as anybody could write the database: through the death of this process, to the end of the server.
type lock struct{ file *os.File }

// errLocked is what tryLock returns while another process has the lock.
var errLocked = errors.New("locked by another process")

// acquire takes the lock of a database file; of none when the database is in memory.
func acquire(ctx context.Context, dbFile string) (*lock, error) {
	if dbFile == "" {
		return &lock{}, nil
	}
	f, err := os.OpenFile(dbFile+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock of the Temporal dev server's database can't be opened: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := tryLock(f)
		if err == nil {
			return &lock{file: f}, nil
		}
		if !errors.Is(err, errLocked) {
			return nil, errors.Join(fmt.Errorf("the Temporal dev server's database can't be locked: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(&InUseError{DBFile: dbFile, PID: holder(f)}, f.Close())
		case <-tick.C:
		}
	}
}

// note writes down whose lock it is, for the message of whoever is refused.
func (l *lock) note(pid int) error {
	if l.file == nil {
		return nil
	}
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("the Temporal dev server's lock can't be written: %w", err)
	}
	if _, err := l.file.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0); err != nil {
		return fmt.Errorf("the Temporal dev server's lock can't be written: %w", err)
	}
	return nil
}

// holder reads what note wrote.
func holder(f *os.File) int {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}

// release gives this process's share of the lock back. The file stays: removing it would let two processes
// hold locks on two files of one name.
func (l *lock) release() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
