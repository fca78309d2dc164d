package api

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// limitKeys bounds how many principals or addresses are counted at once; the one that was quiet longest goes first.
const limitKeys = 10_000

// answerTimeout bounds writing an answer that is no stream. It is longer than anything waits for a worker.
const answerTimeout = 2 * time.Minute

// limits counts requests by who makes them: so many a minute, and as many at once.
type limits struct {
	perMinute int
	now       func() time.Time
	seen      *lru.Cache[string, *rate.Limiter]
}

func newLimits(perMinute int, now func() time.Time) (*limits, error) {
	seen, err := lru.New[string, *rate.Limiter](limitKeys)
	return &limits{perMinute: perMinute, now: now, seen: seen}, err
}

func (l *limits) of(key string) *rate.Limiter {
	fresh := rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.perMinute)
	if old, known, _ := l.seen.PeekOrAdd(key, fresh); known {
		l.seen.Get(key) // it is in use
		return old
	}
	return fresh
}

// take counts one, and refuses it when there are too many.
func (l *limits) take(key string) *Problem {
	if l.of(key).AllowN(l.now(), 1) {
		return nil
	}
	return l.exceeded(key)
}

// spent refuses who has none left, and counts nothing.
func (l *limits) spent(key string) *Problem {
	if old, known := l.seen.Peek(key); !known || old.TokensAt(l.now()) >= 1 {
		return nil
	}
	return l.exceeded(key)
}

func (l *limits) exceeded(key string) *Problem {
	wait := (1 - l.of(key).TokensAt(l.now())) * 60 / float64(l.perMinute)
	return problem(http.StatusTooManyRequests, CodeTooManyRequests, "more than %d a minute are not taken; wait a little", l.perMinute).
		header("Retry-After", fmt.Sprint(max(1, int(math.Ceil(wait)))))
}

// address is where a request comes from: as the proxy before this bridge says, where there is one, and nobody else. Of
// IPv6 it is the network, of which one client has any number of addresses.
func (s *Server) address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if s.cfg.BehindProxy {
		said := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if last := strings.TrimSpace(said[len(said)-1]); last != "" { // what is before it, a client may have made up
			host = last
		}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap(); ip.Is6() {
		if network, err := ip.WithZone("").Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// protect sets the headers that keep an answer from being used for anything else.
func (s *Server) protect(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout)) // a writer that knows no deadlines is a test's
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if r.TLS != nil || s.cfg.BehindProxy {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// crossOrigin answers what browsers ask for pages of other sites that may call; done says that this was all.
func (s *Server) crossOrigin(w http.ResponseWriter, r *http.Request) (done bool) {
	if len(s.cfg.CORSOrigins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(s.cfg.CORSOrigins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", StatusHeader+", Retry-After")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, Last-Event-ID")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
