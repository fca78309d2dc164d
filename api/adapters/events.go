package adapters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// events writes server-sent events. Every write has a deadline: a reader that does not keep up is cut off.
type events struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	timeout time.Duration
	opened  bool
}

func newEvents(w http.ResponseWriter, timeout time.Duration) *events {
	return &events{w: w, c: http.NewResponseController(w), timeout: timeout}
}

// open begins the stream; before that, the answer may still be a refusal.
func (o *events) open(http.Header) error {
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	o.w.WriteHeader(http.StatusOK)
	o.opened = true
	return o.comment("open")
}

func (o *events) send(id, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("event %s has no JSON form: %w", name, err)
	}
	var b bytes.Buffer
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data)
	return o.write(b.Bytes())
}

func (o *events) comment(text string) error { return o.write([]byte(": " + text + "\n\n")) }

func (o *events) write(b []byte) error {
	if err := o.c.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil {
		return err
	}
	if _, err := o.w.Write(b); err != nil {
		return err
	}
	return o.c.Flush()
}

// end lifts the deadline, so that a connection that is used again is not cut off by it.
func (o *events) end() { _ = o.c.SetWriteDeadline(time.Time{}) }
