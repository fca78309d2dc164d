package builtin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"holdpoint/interaction"
	"holdpoint/permission"
)

// Bounds on one exchange, beside the call's whole time.
const (
	dialTimeout        = 15 * time.Second
	handshakeTimeout   = 15 * time.Second
	maxResponseHeaders = 64 << 10 // bytes
)

// guard decides whether an address may be connected to, at the moment of dialling and on the address itself, so that
// no answer of a name server leads inside. A public address may. A private one may only
//
//   - if it stands in the URL, and a rule names it;
//   - if the URL's host is localhost or a metadata service, a rule names that, and it has an address of its kind;
//   - if the operator listed the name (Config.PrivateHosts), as permission.AdmitsAddress has it.
type guard struct {
	host    string // as fetchHost gives it
	private bool   // a rule names the host
	listed  bool
}

func (g guard) admits(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	literal, err := netip.ParseAddr(g.host)
	switch {
	case permission.AdmitsAddress(a, g.listed && err != nil):
		return true
	case err == nil:
		return g.private && literal == a
	case g.listed, !g.private:
		return false
	case g.host == "localhost" || g.host == "localhost.localdomain" || strings.HasSuffix(g.host, ".localhost"):
		return a.IsLoopback()
	case g.host == "metadata" || g.host == "metadata.google.internal":
		return a.IsLinkLocalUnicast()
	default:
		return false
	}
}

// control is net.Dialer's: it sees the address that a connection is about to be made to.
func (g guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return refuse("%s was not connected to: its address can't be read.", g.host)
	case g.admits(ap.Addr()):
		return nil
	}
	if _, err := netip.ParseAddr(g.host); err == nil {
		return refuse("%s is a private address, and no rule names it, so it was not connected to.", g.host)
	}
	// The address itself is nothing that the model needs to know.
	return refuse("%s has a private address, so it was not connected to: that takes a rule for the address itself, or the "+
		"host's name in the tool's private_hosts.", g.host)
}

// send makes one request. The caller closes the answer's body.
func (f fetch) send(ctx context.Context, r webRequest) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, r.url.String(), strings.NewReader(r.body))
	if err != nil {
		return nil, refuse("The request can't be made: %s", clip(interaction.Visible(err.Error()), 200))
	}
	req.Header = r.headers.Clone()
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
		req.Header.Del("Host")
	}
	encoding := "gzip"
	if req.Header.Get("Range") != "" { // a part of a compressed body can't be read
		encoding = "identity"
	}
	for name, value := range map[string]string{"User-Agent": "holdpoint", "Accept": "*/*", "Accept-Encoding": encoding} {
		if _, given := req.Header[name]; !given {
			req.Header.Set(name, value)
		}
	}
	return f.transport(r).RoundTrip(req)
}

// transport is for one request only: no connection is kept, so none is used that another guard let through.
func (f fetch) transport(r webRequest) *http.Transport {
	host := r.url.Hostname()
	dialer := &net.Dialer{Timeout: dialTimeout, Resolver: f.cfg.resolver}
	var proxy func(*http.Request) (*url.URL, error)
	if f.cfg.proxy != nil { // the operator's: it is what is dialled, and resolves the names
		proxy = http.ProxyURL(f.cfg.proxy)
	} else {
		dialer.ControlContext = guard{host: host, private: r.private, listed: slices.Contains(f.cfg.private, host)}.control
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: f.cfg.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    handshakeTimeout,
		DisableKeepAlives:      true,
		DisableCompression:     true, // it is undone here, with bounds
		MaxResponseHeaderBytes: maxResponseHeaders,
		Protocols:              protocols,
	}
}

// exchangeError words why there is no answer, without the addresses of this side of the network.
func exchangeError(ctx context.Context, r webRequest, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", r.method, shownURL(r.url), ctx.Err())
	}
	if own, ok := errors.AsType[*refusal](err); ok {
		return own
	}
	host := r.url.Host
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		switch {
		case dns.IsNotFound:
			return refuse("There is no host %s.", host)
		default:
			return refuse("The name %s could not be resolved; it may help to try again.", host)
		}
	}
	if cert, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return refuse("The certificate of %s was not accepted: %s", host, clip(interaction.Visible(cert.Err.Error()), 300))
	}
	why := err
	if op, ok := errors.AsType[*net.OpError](err); ok {
		why = op.Err
		if op.Op == "dial" {
			return refuse("%s could not be connected to: %s", host, clip(interaction.Visible(why.Error()), 200))
		}
	}
	return refuse("%s gave no answer: %s%s", host, clip(interaction.Visible(why.Error()), 300), mayHaveActed(r.method))
}

// mayHaveActed is for a request that was sent and whose end is not known.
func mayHaveActed(method string) string {
	if safeMethod(method) {
		return ""
	}
	return " The server may have acted on it."
}

// shownURL is a URL for a line of a result.
func shownURL(u *url.URL) string { return clip(interaction.Visible(u.String()), 300) }
