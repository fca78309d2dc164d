package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"holdpoint/tool"
)

// web is a local server that keeps what came to it.
type web struct {
	*httptest.Server
	mu   sync.Mutex
	came []request
}

// request is one that came, with its body.
type request struct {
	line   string // METHOD path
	host   string
	header http.Header
	body   string
}

func serve(t *testing.T, h http.HandlerFunc) *web { return serveOn(t, h, (*httptest.Server).Start) }

func serveTLS(t *testing.T, h http.HandlerFunc) *web {
	return serveOn(t, h, (*httptest.Server).StartTLS)
}

func serveOn(t *testing.T, h http.HandlerFunc, start func(*httptest.Server)) *web {
	t.Helper()
	w := &web{}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.came = append(w.came, request{r.Method + " " + r.URL.String(), r.Host, r.Header.Clone(), string(body)})
		w.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(rw, r)
	}))
	w.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(w.Server)
	t.Cleanup(w.Close)
	return w
}

func (w *web) requests() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]request(nil), w.came...)
}

// lines are the methods and paths that came.
func (w *web) lines() string {
	var out []string
	for _, r := range w.requests() {
		out = append(out, r.line)
	}
	return strings.Join(out, ", ")
}

// port is the server's, so that it can be reached by another host name.
func (w *web) port() string {
	_, port, _ := net.SplitHostPort(w.Listener.Addr().String())
	return port
}

// says answers with a text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, text)
	}
}

// browser makes calls of http_fetch.
type browser struct {
	t       *testing.T
	cfg     Config
	private bool
	hop     func(ctx context.Context, args json.RawMessage) (bool, error)
	change  func(c *fetchConfig)
}

// browse is a browser for which a rule names the hosts of its URLs, and of all redirects.
func browse(t *testing.T) *browser {
	t.Helper()
	t.Parallel()
	return &browser{t: t, private: true, hop: func(context.Context, json.RawMessage) (bool, error) { return true, nil }}
}

func (b *browser) tool() fetch {
	f, ok := newFetch(b.cfg.withDefaults()).(fetch)
	if !ok {
		b.t.Fatal("http_fetch is something else")
	}
	if b.change != nil {
		b.change(&f.cfg)
	}
	return f
}

func (b *browser) call(a any) tool.Call {
	c := (&bench{t: b.t}).call(NameHTTPFetch, a)
	c.Private, c.Hop = b.private, b.hop
	return c
}

func (b *browser) run(a any) tool.Result {
	b.t.Helper()
	out, err := b.tool().Run(context.Background(), b.call(a))
	if err != nil || out.Result == nil {
		b.t.Fatalf("it gave %+v, %v", out, err)
	}
	if n := len(out.Result.Content); n > tool.MaxContentBytes {
		b.t.Fatalf("it gave %d bytes", n)
	}
	return *out.Result
}

func (b *browser) get(url string) tool.Result { b.t.Helper(); return b.run(args{"url": url}) }

// names is a name server of the test's own. It counts what it is asked.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string // by name: the addresses of each answer in turn, the last one for ever
	asked   int
}

// resolver starts the name server and returns a resolver that asks only it.
func (n *names) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply, err := n.answer(buf[:size]); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *names) answer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil, errors.New("no question")
	}
	q := m.Questions[0]
	m.Header.Response, m.Header.RecursionAvailable, m.Additionals = true, true, nil
	addresses, found := n.next(strings.TrimSuffix(q.Name.String(), "."), q.Type)
	if !found {
		m.Header.RCode = dnsmessage.RCodeNameError
	}
	head := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0}
	for _, a := range addresses {
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return m.Pack()
}

func (n *names) next(name string, typ dnsmessage.Type) (out []netip.Addr, found bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	answers, found := n.answers[name]
	if !found {
		return nil, false
	}
	for _, s := range answers[0] {
		out = append(out, netip.MustParseAddr(s))
	}
	if typ == dnsmessage.TypeA && len(answers) > 1 { // both questions of a lookup get the same
		n.answers[name] = answers[1:]
	}
	return out, true
}
