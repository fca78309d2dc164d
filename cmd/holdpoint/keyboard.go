package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"holdpoint/interaction"
)

// typedLine is a line from the terminal, and when it was read.
type typedLine struct {
	text string
	at   time.Time
}

// keyboard reads lines as they are typed, whoever waits for them, so that a line's time tells whether it can be an
// answer to a question. lines is closed at the end of input.
type keyboard struct {
	lines  chan typedLine
	pause  chan struct{} // the reader stands still from here
	resume chan struct{} // to here
	in     *os.File      // nil for what is no file
	wake   *os.File      // gets the reader out of its wait; nil where nothing can
	ended  chan struct{}
}

// newKeyboard reads from in until its end, or until ctx ends.
func newKeyboard(ctx context.Context, in io.Reader) *keyboard {
	k := &keyboard{lines: make(chan typedLine, 256), pause: make(chan struct{}), resume: make(chan struct{}), ended: make(chan struct{})}
	f, isFile := in.(*os.File)
	if isFile {
		if r, w, err := os.Pipe(); err == nil {
			k.in, k.wake = f, w
			context.AfterFunc(ctx, func() { _, _ = w.Write([]byte{0}) })
			go k.poll(ctx, f, r)
			return k
		}
	}
	go k.scan(ctx, in)
	return k
}

// scan reads what is no terminal.
func (k *keyboard) scan(ctx context.Context, in io.Reader) {
	defer k.end()
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 0, 4096), interaction.MaxResponseBytes)
	for scan.Scan() {
		select {
		case k.lines <- typedLine{scan.Text(), time.Now()}:
		case <-ctx.Done():
			return
		}
	}
}

func (k *keyboard) end() {
	close(k.lines)
	close(k.ended)
}

// poll reads a terminal only when there is something to read, so that another program can have it meanwhile.
func (k *keyboard) poll(ctx context.Context, in, woken *os.File) {
	defer woken.Close()
	defer k.end()
	var rest string
	buf := make([]byte, 4096)
	for ctx.Err() == nil {
		fds := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}, {Fd: int32(woken.Fd()), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil {
			if err == unix.EINTR { //nolint:errorlint // a plain errno
				continue
			}
			return
		}
		if fds[1].Revents != 0 {
			k.stand(ctx, woken)
			continue
		}
		n, err := unix.Read(int(in.Fd()), buf)
		if n <= 0 && err != unix.EINTR { //nolint:errorlint // a plain errno
			if rest != "" {
				k.send(ctx, rest, woken)
			}
			return
		}
		rest = k.split(ctx, rest+string(buf[:max(n, 0)]), woken)
	}
}

// split hands on the whole lines of text and returns what is left. A line without end is cut where no answer is longer.
func (k *keyboard) split(ctx context.Context, text string, woken *os.File) string {
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return text[:min(len(text), interaction.MaxResponseBytes)]
		}
		k.send(ctx, strings.TrimSuffix(line, "\r"), woken)
		text = rest
	}
}

func (k *keyboard) send(ctx context.Context, line string, woken *os.File) {
	for {
		select {
		case k.lines <- typedLine{line, time.Now()}:
			return
		case <-ctx.Done():
			return
		case <-k.pause: // its byte is in the pipe
			_, _ = woken.Read(make([]byte, 1))
			<-k.resume
		}
	}
}

// stand lets another have the terminal.
func (k *keyboard) stand(ctx context.Context, woken *os.File) {
	_, _ = woken.Read(make([]byte, 1))
	select {
	case <-k.pause:
		<-k.resume
	case <-ctx.Done():
	}
}

// borrow runs fn while nothing reads the terminal.
func (k *keyboard) borrow(fn func() error) error {
	if k.wake == nil {
		return fn()
	}
	if _, err := k.wake.Write([]byte{1}); err != nil {
		return err
	}
	select {
	case k.pause <- struct{}{}:
		defer func() {
			k.discard()
			k.resume <- struct{}{}
		}()
	case <-k.ended:
	}
	return fn()
}

// discard drops what was typed while another had the terminal: it can't be an answer to what is shown next.
func (k *keyboard) discard() {
	buf := make([]byte, 4096)
	for {
		fds := []unix.PollFd{{Fd: int32(k.in.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 0); n < 1 || err != nil || fds[0].Revents&unix.POLLIN == 0 {
			return
		}
		if n, err := unix.Read(int(k.in.Fd()), buf); n < 1 || err != nil {
			return
		}
	}
}
