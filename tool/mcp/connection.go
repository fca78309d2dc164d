package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdpoint/interaction"
)

// Limits on what a server may send.
const (
	maxMessageBytes = 16 << 20
	maxErrorBytes   = 2 << 10
	maxSaidLines    = 5 // of a program's errors, that are kept

	lastWords = time.Second // for the errors of a program that ended
)

// connection is one session with a server.
type connection struct {
	session *mcp.ClientSession
	process *Process // nil for an address
	since   time.Time
	ended   chan struct{} // closed when the session is over
	changed atomic.Bool   // the server says that its tools have changed
	heard   chan struct{} // closed when a program has closed its errors
	closing sync.Once
	failed  error

	asks *atomic.Bool // the server has asked people before

	mu    sync.Mutex
	said  []string    // the last lines that the program printed as errors
	calls []*underway // on this connection
}

// connect starts a server, or calls its address, and greets it.
func (s *Server) connect(ctx context.Context, within time.Duration) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c := &connection{since: time.Now(), ended: make(chan struct{}), heard: make(chan struct{}), asks: &s.asks}
	transport, err := s.transport(c)
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(implementation, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler:     c.elicit,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changed.Store(true) },
	})
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("it did not answer within %s", within)
		}
		err = c.explained(err, true)
		return nil, errors.Join(err, c.close())
	}
	c.session = session
	go func() {
		defer close(c.ended)
		_ = session.Wait()
	}()
	return c, nil
}

func (s *Server) transport(c *connection) (mcp.Transport, error) {
	if s.cfg.Start == nil {
		// Without the stream that a server may send on at any time: a list is asked for when it is needed.
		return &mcp.StreamableClientTransport{Endpoint: s.cfg.URL, HTTPClient: s.httpClient(), MaxRetries: 2,
			MaxEventSize: maxMessageBytes, DisableStandaloneSSE: true}, nil
	}
	p, err := s.cfg.Start()
	if err != nil {
		return nil, fmt.Errorf("it can't be started: %w", err)
	}
	c.process = &p
	go c.listen(p.Stderr)
	return &mcp.IOTransport{Reader: p.Stdout, Writer: p.Stdin, MaxLineLength: maxMessageBytes}, nil
}

// dead reports whether the session is over.
func (c *connection) dead() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// close ends the program first: without it the session has nothing to wait for.
func (c *connection) close() error {
	c.closing.Do(func() {
		if c.process != nil {
			c.failed = c.process.Close()
		}
		if c.session != nil {
			_ = c.session.Close() // a session that is over says so
		}
	})
	return c.failed
}

// listen keeps the last lines that a program prints as errors: they say why it ended.
func (c *connection) listen(r io.Reader) {
	defer close(c.heard)
	lines := bufio.NewReaderSize(r, 4<<10)
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimSpace(line); text != "" {
			c.mu.Lock()
			c.said = append(c.said, interaction.Visible(clip(text, 300)))
			c.said = c.said[max(0, len(c.said)-maxSaidLines):]
			c.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// explained adds what the program said last. over is true when it has ended, and says no more.
func (c *connection) explained(err error, over bool) error {
	if over && c.process != nil {
		timer := time.NewTimer(lastWords)
		defer timer.Stop()
		select {
		case <-c.heard:
		case <-timer.C:
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.said) == 0 {
		return err
	}
	return fmt.Errorf("%w (it said: %s)", err, strings.Join(c.said, " / "))
}

// httpClient sends the headers with every request, and only to the server's own address: they may be secrets.
func (s *Server) httpClient() *http.Client {
	next := http.DefaultTransport
	if t, ok := next.(*http.Transport); ok {
		// A call on a kept connection that the server has closed meanwhile fails without anybody knowing whether it arrived;
		// on one of its own it does so only if the server broke off.
		t = t.Clone()
		t.DisableKeepAlives = true
		next = t
	}
	return &http.Client{
		Transport: &guarded{headers: s.cfg.Headers, next: next},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it leads elsewhere by a redirect, which is not followed: write the address that it leads to")
		},
	}
}

// guarded adds headers to requests and bounds what is read of a response that is no stream of events; of those the
// transport bounds each event.
type guarded struct {
	headers http.Header
	next    http.RoundTripper
}

func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range g.headers {
		r.Header[name] = values
	}
	resp, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Type"))), "text/event-stream") {
		resp.Body = &bounded{resp.Body, maxMessageBytes}
	}
	return resp, nil
}

type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the server sent more than %d bytes", maxMessageBytes)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
