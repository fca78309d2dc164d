package notify

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

	"holdpoint/permission"
)

// errPrivate says nothing of the address: whoever named it may be looking for what is inside.
var errPrivate = errors.New("the address is private, and its host is not among the notifier's private_hosts")

// CheckCallback says what is wrong with a callback's address as far as it can be seen without resolving it. It must be
// https, but for hosts that the operator has listed.
func CheckCallback(address string, hosts []string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return errors.New("is no URL")
	case len(address) > 2048:
		return errors.New("is longer than 2,048 bytes")
	case u.User != nil || u.Fragment != "":
		return errors.New("must have no credentials and no fragment")
	}
	listed := slices.Contains(hosts, strings.ToLower(u.Hostname()))
	if u.Scheme != "https" && (u.Scheme != "http" || !listed) {
		return errors.New("must be https")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !permission.AdmitsAddress(a, listed) {
		return errPrivate
	}
	return nil
}

// guarded is a transport that looks at every address when it is dialled, so that no name server leads inside. It keeps no
// connections, and uses no proxy that would dial in its place.
func guarded(hosts []string) *http.Transport {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		listed := slices.Contains(hosts, strings.ToLower(host))
		d := net.Dialer{Timeout: 10 * time.Second, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			if ap, err := netip.ParseAddrPort(address); err != nil || !permission.AdmitsAddress(ap.Addr(), listed) {
				return errPrivate
			}
			return nil
		}}
		return d.DialContext(ctx, network, address)
	}
	return &http.Transport{DialContext: dial, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, MaxResponseHeaderBytes: 64 << 10}
}

// hidden is an error of a request without the address that it was sent to, which may have a secret in it.
func hidden(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, errPrivate) {
		return &RefusedError{Reason: errPrivate.Error()}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return errors.New("the receiver's name could not be resolved")
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return fmt.Errorf("the receiver could not be reached: %w", op.Err)
	}
	return fmt.Errorf("the receiver gave no answer: %w", err)
}
