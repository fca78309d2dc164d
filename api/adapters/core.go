package adapters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// maxRequest bounds a body that an adapter reads; the bridge's guard has bounded it before.
const maxRequest = interaction.MaxBatchBytes

// core makes the bridge's calls within the process. The context says in whose name: the bridge put them there.
type core struct{ bridge http.Handler }

// call makes one call and decodes its answer into out, unless that is nil. A refusal is an *api.Problem.
func (c core) call(ctx context.Context, method, path string, body, out any) (status int, err error) {
	r, err := newRequest(ctx, method, path, body)
	if err != nil {
		return 0, err
	}
	rec := &recorder{header: http.Header{}}
	c.bridge.ServeHTTP(rec, r)
	if rec.status >= http.StatusMultipleChoices {
		return rec.status, problemFrom(rec.status, rec.body.Bytes())
	}
	if out == nil {
		return rec.status, nil
	}
	if err := json.Unmarshal(rec.body.Bytes(), out); err != nil {
		return rec.status, fmt.Errorf("the bridge's answer to %s %s can't be read: %w", method, path, err)
	}
	return rec.status, nil
}

func newRequest(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var raw io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		raw = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, raw)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

func problemFrom(status int, body []byte) *api.Problem {
	if status < http.StatusBadRequest { // the way to a place of another name: there is none of this
		return refusal(http.StatusNotFound, api.CodeNotFound, "there is no such thing that you may see")
	}
	p := &api.Problem{}
	if err := json.Unmarshal(body, p); err != nil || p.Status == 0 {
		return refusal(status, api.CodeInternal, "%s", http.StatusText(status))
	}
	return p
}

// recorder takes in an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.body.Write(b)
}

func (r *recorder) WriteHeader(status int) { r.status = status }

// frame is one server-sent event; of a comment only Comment is set.
type frame struct{ ID, Event, Data, Comment string }

// follower takes in a stream as it comes. What each returns ends the stream, if it is an error.
type follower struct {
	recorder
	open   func(h http.Header) error
	each   func(f frame) error
	cancel context.CancelFunc
	rest   []byte
	err    error
}

// stream makes a call that goes on as a stream of events. open is told when it does. It ends with the stream, or with
// the first error that open or each returns, which is what it returns, unless that is errEnough.
func (c core) stream(ctx context.Context, method, path string, body any, header http.Header, open func(http.Header) error, each func(frame) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := newRequest(ctx, method, path, body)
	if err != nil {
		return err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Accept", "text/event-stream")
	f := &follower{recorder: recorder{header: http.Header{}}, open: open, each: each, cancel: cancel}
	c.bridge.ServeHTTP(f, r)
	if f.err == errEnough {
		return nil
	}
	if f.err == nil && f.status >= http.StatusMultipleChoices {
		return problemFrom(f.status, f.recorder.body.Bytes())
	}
	return f.err
}

type enough struct{}

func (enough) Error() string { return "nothing more is wanted" }

// errEnough ends a stream from which nothing more is wanted.
var errEnough error = enough{}

// WriteHeader tells that the stream begins.
func (f *follower) WriteHeader(status int) {
	f.recorder.WriteHeader(status)
	if status < http.StatusMultipleChoices && f.open != nil {
		f.stop(f.open(f.header))
	}
}

// stop keeps the first error, and ends the call before that is reported to it: it did nothing wrong.
func (f *follower) stop(err error) {
	if err != nil && f.err == nil {
		f.err = err
		f.cancel()
	}
}

// Write takes in a piece of the stream, and hands on the events that are whole.
func (f *follower) Write(b []byte) (int, error) {
	if f.status >= http.StatusMultipleChoices {
		return f.recorder.Write(b)
	}
	f.rest = append(f.rest, b...)
	for f.err == nil {
		text, rest, whole := bytes.Cut(f.rest, []byte("\n\n"))
		if !whole {
			break
		}
		one := readFrame(string(text))
		f.rest = bytes.Clone(rest)
		f.stop(f.each(one))
	}
	if f.err != nil {
		return 0, f.err
	}
	return len(b), nil
}

// SetWriteDeadline does nothing: what is slow is the reader behind, and its writer has a deadline.
func (f *follower) SetWriteDeadline(time.Time) error { return nil }

// Flush does nothing: nothing is held back.
func (f *follower) Flush() {}

func readFrame(text string) (f frame) {
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			f.Comment = value
		case "id":
			f.ID = value
		case "event":
			f.Event = value
		case "data":
			f.Data += value
		}
	}
	return f
}

// read decodes a request's body as strictly as the bridge does.
func read(r *http.Request, v any) error {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err != nil {
		return refusal(http.StatusBadRequest, api.CodeInvalid, "the body could not be read to its end")
	}
	return decode(data, v)
}

func decode(data []byte, v any) error {
	if err := interaction.Strict(data, v); err != nil {
		p := refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "the body %s", err)
		if e, ok := errors.AsType[*interaction.Error](err); ok && e.Field != "" {
			p.Detail = e.Error()
			p.Errors = []api.FieldError{{Location: "body." + e.Field, Message: e.Message}}
		}
		return p
	}
	return nil
}

func path(format string, ids ...string) string {
	args := make([]any, len(ids))
	for n, id := range ids {
		args[n] = url.PathEscape(id)
	}
	return fmt.Sprintf(format, args...)
}
