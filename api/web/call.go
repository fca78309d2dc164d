package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"holdpoint/api"
)

// request is a request to the bridge in the name of the session's token.
func (v *view) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var b io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		b = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, b)
	if err != nil {
		return nil, err
	}
	r.RemoteAddr = v.r.RemoteAddr
	if said := v.r.Header.Values("X-Forwarded-For"); len(said) > 0 {
		r.Header["X-Forwarded-For"] = said
	}
	if v.ses.Token != "" {
		r.Header.Set("Authorization", "Bearer "+v.ses.Token)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// call asks the bridge. A refusal is the bridge's *api.Problem.
func (v *view) call(method, path string, body, out any) error {
	r, err := v.request(v.r.Context(), method, path, body)
	if err != nil {
		return err
	}
	w := httptest.NewRecorder()
	v.s.cfg.API.ServeHTTP(w, r)
	return decode(path, w.Code, w.Body.Bytes(), out)
}

func (v *view) get(path string, out any) error { return v.call(http.MethodGet, path, nil, out) }

func decode(path string, status int, body []byte, out any) error {
	if status >= 400 {
		p := &api.Problem{}
		if err := json.Unmarshal(body, p); err != nil || p.Status == 0 {
			return fmt.Errorf("%s was answered %d: %.200q", path, status, body)
		}
		return p
	}
	if out == nil || len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// incoming is one server-sent event of the bridge.
type incoming struct {
	id, name string
	data     []byte
}

// stream opens one of the bridge's event streams. each is called for every event until it returns an error, the
// stream ends or ctx does; a comment comes as an event without a name.
func (v *view) stream(ctx context.Context, path string, each func(incoming) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := v.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	pr, pw := io.Pipe()
	defer pr.Close()
	w := &pipeWriter{header: http.Header{}, status: http.StatusOK, to: pw}
	go func() {
		defer func() {
			_ = recover() // the bridge has logged it; what is left is an aborted response
			_ = pw.Close()
		}()
		v.s.cfg.API.ServeHTTP(w, r)
	}()
	in := bufio.NewReader(pr)
	first, err := in.Peek(1)
	if len(first) == 0 {
		if err == io.EOF {
			err = nil
		}
		return err
	}
	if w.status >= 400 {
		body, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return decode(path, w.status, body, nil)
	}
	return readEvents(in, func(e incoming) error {
		if e.name == "" && !v.still() {
			return errSignedOut
		}
		return each(e)
	})
}

var errSignedOut = errors.New("the session's token has ended")

// still looks, at each heartbeat of a stream, whether the token still is someone's. What can't be found out is left to
// the next.
func (v *view) still() bool {
	_, known, err := v.s.whose(v.r, v.ses.Token)
	return known || err != nil
}

func readEvents(in *bufio.Reader, each func(incoming) error) error {
	var e incoming
	for {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		line = strings.TrimSuffix(line, "\n")
		switch field, value, _ := strings.Cut(line, ": "); {
		case line == "":
			if err := each(e); err != nil {
				return err
			}
			e = incoming{}
		case field == "id":
			e.id = value
		case field == "event":
			e.name = value
		case field == "data":
			e.data = []byte(value)
		}
	}
}

// pipeWriter is a response that is read while it is written. Its reader bounds how long a write may take.
type pipeWriter struct {
	header http.Header
	status int
	to     *io.PipeWriter
}

func (w *pipeWriter) Header() http.Header                { return w.header }
func (w *pipeWriter) WriteHeader(status int)             { w.status = status }
func (w *pipeWriter) Write(b []byte) (int, error)        { return w.to.Write(b) }
func (w *pipeWriter) FlushError() error                  { return nil }
func (w *pipeWriter) SetWriteDeadline(_ time.Time) error { return nil }
func (w *pipeWriter) SetReadDeadline(_ time.Time) error  { return nil }

// sseTimeout is how long a browser may take for one write.
const sseTimeout = 10 * time.Second

// sse writes server-sent events to the browser.
type sse struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func (v *view) sse() *sse {
	h := v.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	v.w.WriteHeader(http.StatusOK)
	return &sse{v.w, http.NewResponseController(v.w)}
}

// send writes one event; a name of "" makes it a comment.
func (o *sse) send(id, name, data string) error {
	var b bytes.Buffer
	if name == "" {
		b.WriteString(": alive\n\n")
	} else {
		if id != "" {
			fmt.Fprintf(&b, "id: %s\n", id)
		}
		fmt.Fprintf(&b, "event: %s\n", name)
		for line := range strings.SplitSeq(data, "\n") {
			fmt.Fprintf(&b, "data: %s\n", line)
		}
		b.WriteByte('\n')
	}
	if err := o.c.SetWriteDeadline(time.Now().Add(sseTimeout)); err != nil {
		return err
	}
	if _, err := o.w.Write(b.Bytes()); err != nil {
		return err
	}
	return o.c.Flush()
}
