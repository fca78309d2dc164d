package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// certificate makes one for loopback, as files.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

func TestTheBridgeSpeaksTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificate(t)
	h := apptest.Start(t, func(o *app.Options) { o.TLSCert, o.TLSKey, o.NoWorker = cert, key, true })
	if !strings.HasPrefix(h.URL(), "https://") {
		t.Fatal(h.URL())
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	resp, err := client.Get(h.URL() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.TLS.Version < tls.VersionTLS12 || resp.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%d %v %v", resp.StatusCode, resp.TLS.Version, resp.Header)
	}
	plain, err := http.Get(strings.Replace(h.URL(), "https", "http", 1) + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Body.Close()
	if plain.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %d", plain.StatusCode)
	}
	for _, want := range []string{"TLS handshake error", "certificate expires soon"} { // it has an hour
		h.Eventually("the log to say "+want, func() bool {
			logged, err := os.ReadFile(filepath.Join(h.Options.Data, "private", "holdpoint.log"))
			return err == nil && strings.Contains(string(logged), want)
		})
	}
}

func TestACertificateIsNotWithoutItsKey(t *testing.T) {
	t.Parallel()
	cert, key, _ := certificate(t)
	_, others, _ := certificate(t)
	for name, c := range map[string]struct{ cert, key, want string }{
		"no key":        {cert, "", "give both"},
		"no file":       {cert + "x", key, "no such file"},
		"another's key": {cert, others, "does not match"},
	} {
		o := apptest.Options(t, t.TempDir())
		o.TLSCert, o.TLSKey, o.NoWorker, o.Address = c.cert, c.key, true, apptest.Server(t)
		a, err := app.Dev(t.Context(), o)
		if err == nil {
			_ = a.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--tls-key") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
