package devserver

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// maxTailBytes bounds what an error quotes of the log.
const maxTailBytes = 4 << 10

// maxSearchBytes bounds how much of the log is looked at for what was wrong: a server that panics over a port writes its
// whole stack behind that.
const maxSearchBytes = 512 << 10

// openLog opens the file that gets the server's output. One that has grown too large is set aside, replacing
// the one set aside before.
func openLog(name string) (*os.File, error) {
	if name == "" {
		f, err := os.CreateTemp("", "holdpoint-temporal-*.log")
		if err != nil {
			return nil, fmt.Errorf("the Temporal dev server's log can't be made: %w", err)
		}
		return f, nil
	}
	if info, err := os.Stat(name); err == nil && info.Size() > maxLogBytes {
		if err := os.Rename(name, name+".old"); err != nil {
			return nil, fmt.Errorf("the Temporal dev server's old log can't be set aside: %w", err)
		}
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the Temporal dev server's log can't be opened: %w", err)
	}
	return f, nil
}

// closeLog closes the log and removes a temporary one. It may be called again.
func (s *Server) closeLog() error {
	err := s.log.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	if s.logTemp {
		err = errors.Join(err, os.Remove(s.log.Name()))
	}
	return err
}

// Tail is the end of what the server has logged, for the report of one that went wrong.
func (s *Server) Tail() string { return logTail(s.log, 0, maxTailBytes) }

// logTail returns the last bytes of what was written since start, as text that a terminal can be given.
func logTail(f *os.File, start, most int64) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(start, info.Size()-most)
	buf := make([]byte, max(0, info.Size()-from))
	n, err := f.ReadAt(buf, from)
	if err != nil && n == 0 {
		return ""
	}
	text := string(buf[:n])
	if from > start { // begin with a whole line
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSpace(strings.Map(printable, text))
}

func printable(r rune) rune {
	if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && r != utf8.RuneError {
		return r
	}
	return '?'
}
