package adapters

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// TestReadersThatDoNotKeepUpAreCutOff opens each kind of stream and reads nothing of it.
func TestReadersThatDoNotKeepUpAreCutOff(t *testing.T) {
	t.Parallel()
	const patience = 50 * time.Millisecond
	big := strings.Repeat("x", 1<<20)
	// flood writes far more than the sockets hold, and returns what stopped it.
	flood := func(write func() error) error {
		for range 64 {
			if err := write(); err != nil {
				return err
			}
		}
		return nil
	}
	ended := make(chan error, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			out := newEvents(w, patience)
			if err := out.open(nil); err != nil {
				ended <- err
				return
			}
			ended <- flood(func() error { return out.send("", "INTERACTION", big) })
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			ended <- err
			return
		}
		defer conn.CloseNow() //nolint:errcheck // it is cut off already
		s := &session{a: &Adapters{cfg: Config{WriteTimeout: patience}}, write: func(ctx context.Context, raw []byte) error {
			return conn.Write(ctx, websocket.MessageText, raw)
		}}
		ended <- flood(func() error { return s.send(r.Context(), socketTool, big) })
	}))
	defer server.Close()
	for _, header := range []string{"", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n")); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("with %q, 64 MB went to a reader that read nothing", header)
			}
		case <-time.After(30 * time.Second):
			t.Errorf("with %q, the reader is not cut off", header)
		}
	}
}
