package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
)

// Bounds of an event stream.
const (
	maxEventBytes = 16 << 20
	silence       = 60 * time.Second // the bridge says something every 15 s
	maxBackoff    = 5 * time.Second
)

// stream is a part of a run's events.
type stream struct {
	run   interaction.RunID
	after int64 // begin behind this event
	once  bool  // end after what is stored, whether the run has ended or not
}

// follow reads a run's events until its last and hands each to sink, each stored one once and in order. It connects
// again, after the last event it has, whenever the bridge goes away. lost is told about that, once, and "" when it is back.
func (cl *client) follow(ctx context.Context, s stream, sink func(event.Event) error, lost func(string)) error {
	f := &follower{cl: cl, run: s.run, after: s.after, once: s.once, sink: sink}
	connected := true
	tell := func(trouble string) {
		if connected != (trouble == "") {
			connected = trouble == ""
			lost(trouble)
		}
	}
	for wait, tries := 200*time.Millisecond, 1; ; tries++ {
		before := f.after
		err := f.read(ctx, func() { tell("") })
		var final *sinkError
		switch {
		case f.done, err == nil && f.once:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &final):
			return final.err
		case err != nil && (lasting(err) || f.once && tries == callAttempts):
			return err
		}
		if f.after > before {
			wait = 200 * time.Millisecond
		}
		if err != nil {
			tell(err.Error())
		}
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
		wait = min(wait*2, maxBackoff)
	}
}

// lasting reports refusals that no waiting mends.
func lasting(err error) bool {
	var r *refusedError
	return errors.As(err, &r) && r.problem.Status < 500
}

// sinkError marks what the reader's own side ended with.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return e.err.Error() }

type follower struct {
	cl    *client
	run   interaction.RunID
	sink  func(event.Event) error
	after int64
	once  bool
	done  bool
}

// read follows one connection to its end.
func (f *follower) read(ctx context.Context, connected func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(errors.New("the event stream fell silent")) })
	defer quiet.Stop()
	k := call{method: http.MethodGet, path: "/v1/runs/" + url.PathEscape(string(f.run)) + "/events",
		header: map[string]string{"Accept": "text/event-stream"}}
	if f.once {
		k.query = url.Values{"follow": {"false"}}
	}
	if f.after > 0 {
		k.header["Last-Event-ID"] = strconv.FormatInt(f.after, 10)
	}
	resp, err := f.cl.send(ctx, k)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		return f.cl.refusal(resp, data)
	}
	connected()
	in := bufio.NewReaderSize(resp.Body, 64<<10)
	for {
		e, err := nextEvent(in, func() { quiet.Reset(silence) })
		if errors.Is(err, io.EOF) || f.done {
			return nil
		}
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
		if err := f.take(e); err != nil || f.done {
			return err
		}
	}
}

// take hands an event on, unless it was there before.
func (f *follower) take(e event.Event) error {
	if e.Number > 0 && e.Number <= f.after {
		return nil
	}
	if err := f.sink(e); err != nil {
		return &sinkError{err}
	}
	if e.Number > 0 {
		f.after = e.Number
	}
	f.done = e.Type.Last() && e.RunID == f.run
	return nil
}

// nextEvent reads one server-sent event. heard is called for every line, comments included.
func nextEvent(in *bufio.Reader, heard func()) (event.Event, error) {
	var data strings.Builder
	for {
		line, err := readLine(in)
		if err != nil {
			return event.Event{}, err
		}
		heard()
		switch {
		case line == "" && data.Len() == 0: // between events
		case line == "":
			var e event.Event
			if err := json.Unmarshal([]byte(data.String()), &e); err != nil {
				return e, fmt.Errorf("an event can't be read: %w", err)
			}
			return e, nil
		case strings.HasPrefix(line, "data:"):
			if data.Len()+len(line) > maxEventBytes {
				return event.Event{}, fmt.Errorf("an event has more than %d bytes", maxEventBytes)
			}
			data.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "data:"), " "))
			data.WriteByte('\n')
		}
	}
}

// readLine reads one line of bounded length, without its end.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		piece, more, err := in.ReadLine()
		if err != nil {
			return "", err
		}
		if line = append(line, piece...); len(line) > maxEventBytes {
			return "", fmt.Errorf("a line of the event stream has more than %d bytes", maxEventBytes)
		}
		if !more {
			return string(line), nil
		}
	}
}
