package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/auth"
	"holdpoint/internal/config"
	"holdpoint/internal/signing"
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
		if err := a.checkCertificate(f); err != nil {
			return f, err
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

// checkCertificate refuses a certificate that can't be served. One that has ended is served all the same, for those who do not mind.
func (a *App) checkCertificate(f config.Bridge) error {
	if f.TLSCert == "" || f.TLSKey == "" {
		return errors.New("a certificate and its key go together: give both, as PEM files, by --tls-cert and --tls-key")
	}
	pair, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
	if err != nil {
		return fmt.Errorf("the certificate and its key can't be used: %w: give both, as PEM files, by --tls-cert and --tls-key", err)
	}
	switch end := pair.Leaf.NotAfter; {
	case time.Now().After(end):
		a.log.Error("the bridge's certificate has expired, and clients refuse it: put another in its place, and start the bridge again", "file", f.TLSCert, "not_after", end)
	case time.Until(end) < expiresSoon:
		a.log.Warn("the bridge's certificate expires soon: put another in its place, and start the bridge again", "file", f.TLSCert, "not_after", end)
	}
	return nil
}

// expiresSoon is from when on the log tells at each start that the signing key or the certificate is near its end.
const expiresSoon = 14 * 24 * time.Hour

// signs has the bridge sign what it forwards, and the runs that it starts trust that, where a key is configured.
func (a *App) signs(c *api.Config, f config.Bridge, dev bool) error {
	if f.SigningKey == "" {
		if !dev {
			a.log.Warn("answers count unsigned: who may write to the Temporal namespace can answer for anybody; see docs/signatures.md")
		}
		return nil
	}
	key, err := signing.Load(f.SigningKey)
	if err != nil {
		return fmt.Errorf("%s: signing_key: %w", f.Pos, err)
	}
	switch end := key.Certificate().NotAfter; {
	case time.Now().After(end):
		return fmt.Errorf("%s: signing_key: %w", f.Pos, signing.ErrExpired)
	case time.Until(end) < expiresSoon:
		a.log.Warn("the signing key expires soon: make another with holdpoint keys rotate", "not_after", end)
	}
	c.Sign, c.Trust = key.Sign, &interaction.Trust{Root: key.Root(), Unsigned: f.UnsignedAnswers}
	return nil
}

// TakesUnsigned reports whether the runs that are started here take answers that no bridge has signed.
func (a *App) TakesUnsigned() bool {
	return len(a.defs.cfg.Bridges) == 0 || a.defs.cfg.Bridges[0].SigningKey == ""
}

// serve serves until the server is shut down.
func (b *bridge) serve(f config.Bridge) error {
	if b.tls {
		return b.http.ServeTLS(b.net, f.TLSCert, f.TLSKey)
	}
	return b.http.Serve(b.net)
}
