package app

import (
	"crypto/tls"
	"errors"
	"fmt"

	"holdpoint/internal/auth"
	"holdpoint/internal/config"
)

// front is how the bridge is reached: as configured, and before that as the options say. What would let strangers in,
// or show tokens on the way, is refused.
func (a *App) front(identified bool) (config.Bridge, error) {
	var f config.Bridge
	if len(a.defs.cfg.Bridges) > 0 {
		f = a.defs.cfg.Bridges[0]
	}
	f.BehindProxy = f.BehindProxy || a.o.BehindProxy
	if a.o.TLSCert != "" || a.o.TLSKey != "" {
		f.TLSCert, f.TLSKey = a.o.TLSCert, a.o.TLSKey
	}
	encrypted := f.TLSCert != "" || f.TLSKey != ""
	if encrypted {
		if _, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey); err != nil {
			return f, fmt.Errorf("the certificate and its key can't be used: %w: give both, as PEM files, by --tls-cert and --tls-key", err)
		}
	}
	if err := auth.CheckListen(a.o.Listen, identified); err != nil {
		return f, err
	}
	switch {
	case f.BehindProxy && !identified:
		return f, errors.New("behind a proxy everybody may come, and no authentication is configured: make a token with `holdpoint token create --config …`, or configure type: auth")
	case !auth.Loopback(a.o.Listen) && !encrypted && !f.BehindProxy:
		return f, fmt.Errorf("%q can be reached from other machines, and tokens would go there in clear: give --tls-cert and --tls-key, "+
			"or --behind-proxy where a proxy ends TLS, or listen on 127.0.0.1", a.o.Listen)
	}
	return f, nil
}

// serve serves until the server is shut down.
func (b *bridge) serve(f config.Bridge) error {
	if b.tls {
		return b.http.ServeTLS(b.net, f.TLSCert, f.TLSKey)
	}
	return b.http.Serve(b.net)
}
