package app_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// TestClientsThatAreTooBigOrTooSlowAreCutOff speaks to the bridge as it is served, by hand.
func TestClientsThatAreTooBigOrTooSlowAreCutOff(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, func(o *app.Options) { o.NoWorker = true })
	const head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	auth := "Authorization: Bearer " + h.Token() + "\r\n"
	dial := func(t *testing.T) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	// trickle sends one byte a second, as long as somebody listens, and returns what the bridge said.
	trickle := func(t *testing.T, begin, piece string) (said string, after time.Duration) {
		t.Helper()
		conn, began := dial(t), time.Now()
		fmt.Fprint(conn, begin)
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					if _, err := io.WriteString(conn, piece); err != nil {
						return
					}
				case <-stop:
					return
				}
			}
		}()
		_ = conn.SetReadDeadline(began.Add(apptest.Patience))
		raw, _ := io.ReadAll(conn) // a connection that is reset has said all that it will
		return string(raw), time.Since(began)
	}
	t.Run("10 MB are refused before they are read", func(t *testing.T) {
		t.Parallel()
		for name, who := range map[string]struct{ auth, status string }{"with a token": {auth, "413"}, "without": {"Authorization: Bearer no\r\n", "401"}} {
			conn, began := dial(t), time.Now()
			fmt.Fprintf(conn, "%s%sContent-Length: %d\r\n\r\n{", head, who.auth, 10<<20)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || fmt.Sprint(resp.StatusCode) != who.status || !resp.Close {
				t.Fatalf("%s: %v, %v", name, resp, err)
			}
			_ = resp.Body.Close()
			t.Logf("%s: %s after one byte of the body, %s", name, who.status, time.Since(began).Round(time.Microsecond))
		}
	})
	t.Run("a body without a length is cut off at its bound", func(t *testing.T) {
		t.Parallel()
		body := io.LimitReader(rand.Reader, 10<<20)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL()+"/v1/runs", io.NopCloser(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+h.Token())
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return // it was cut off while it was sent
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%d", resp.StatusCode)
		}
	})
	for name, c := range map[string]struct{ begin, status string }{
		"a body that drips":                       {head + auth + "Content-Length: 1000\r\n\r\n", "400"},
		"a stranger's body that drips":            {head + "Authorization: Bearer no\r\nContent-Length: 1000\r\n\r\n", "401"},
		"a body that drips into the sign-in form": {strings.Replace(head, "/v1/runs", "/sign-in", 1) + "Content-Length: 1000\r\n\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, after := trickle(t, c.begin, " ")
			if !strings.HasPrefix(said, "HTTP/1.1 "+c.status) && c.status != "" || strings.HasPrefix(said, "HTTP/1.1 2") {
				t.Errorf("%q, want %s", said, c.status)
			}
			t.Logf("cut off after %s", after.Round(time.Second))
		})
	}
	t.Run("headers that drip", func(t *testing.T) {
		t.Parallel()
		said, after := trickle(t, head+"X-Slow: ", "x")
		if strings.HasPrefix(said, "HTTP/1.1 2") {
			t.Errorf("%q", said)
		}
		t.Logf("cut off after %s", after.Round(time.Second))
	})
	t.Run("headers without end", func(t *testing.T) {
		t.Parallel()
		conn := dial(t)
		fmt.Fprint(conn, head)
		for range 3000 {
			if _, err := fmt.Fprintf(conn, "X-More: %s\r\n", strings.Repeat("x", 100)); err != nil {
				return // cut off
			}
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%d", resp.StatusCode)
		}
	})
}
