package app_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store/pgtest"
)

const temporalKey = "a-key-of-temporals"

// temporalFront stands before the tests' Temporal server as that of a cloud does: it speaks TLS with those who have a
// certificate that it trusts, and an API key.
func temporalFront(t *testing.T, certificate tls.Certificate, pool *x509.CertPool) (address string) {
	t.Helper()
	var plain http.Protocols
	plain.SetUnencryptedHTTP2(true)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: apptest.Server(t)})
	proxy.Transport, proxy.FlushInterval, proxy.ErrorLog = &http.Transport{Protocols: &plain}, -1, log.New(io.Discard, "", 0)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+temporalKey {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "16") // UNAUTHENTICATED
			w.Header().Set("Grpc-Message", "an API key is wanted")
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = proxy.ErrorLog
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	server.StartTLS()
	t.Cleanup(server.CloseClientConnections)
	return server.Listener.Addr().String()
}

// postgresFront speaks TLS for a PostgreSQL server that listens on a socket, and counts who came by TLS. Without, nobody does.
func postgresFront(t *testing.T, dsn string, certificate tls.Certificate) (address string, came *atomic.Int64) {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	came = &atomic.Int64{}
	socket := filepath.Join(cfg.Host, fmt.Sprint(".s.PGSQL.", cfg.Port))
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = forward(conn, socket, certificate, came)
			}()
		}
	}()
	return listener.Addr().String(), came
}

// forward answers a client's SSLRequest, as PostgreSQL's protocol has it, and passes on what is said after it.
func forward(conn net.Conn, socket string, certificate tls.Certificate, came *atomic.Int64) error {
	request := make([]byte, 8)
	if _, err := io.ReadFull(conn, request); err != nil || string(request) != "\x00\x00\x00\x08\x04\xd2\x16\x2f" {
		return errors.Join(err, errors.New("no TLS was asked for"))
	}
	if _, err := conn.Write([]byte{'S'}); err != nil {
		return err
	}
	client := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err := client.Handshake(); err != nil {
		return err
	}
	came.Add(1)
	server, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, err = io.Copy(client, server)
	return err
}

func TestTemporalAndTheStoreAreReachedByTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	other, _, _ := certificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	dsn := pgtest.Database(t)
	database, came := postgresFront(t, dsn, pair)
	kept := func(root string) apptest.Setup {
		parsed, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return withConfig(fmt.Sprintf("---\ntype: session_store\nname: shared\nstore_type: postgres\ndsn: postgres://%s@%s/%s?sslmode=verify-full&sslrootcert=%s\n",
			parsed.User, database, parsed.Database, root))
	}
	environment := map[string]string{"TEMPORAL_ADDRESS": temporalFront(t, pair, pool), "TEMPORAL_API_KEY": temporalKey,
		"TEMPORAL_TLS_CLIENT_CERT_PATH": cert, "TEMPORAL_TLS_CLIENT_KEY_PATH": key, "TEMPORAL_TLS_SERVER_CA_CERT_PATH": cert}
	options := func(root string) app.Options {
		o := apptest.Options(t, t.TempDir())
		kept(root)(&o)
		apptest.WithModel(effectOnce(1))(&o)
		withEffect(apptest.Effect{})(&o)
		return o
	}

	t.Run("by variables", func(t *testing.T) {
		for name, value := range environment {
			t.Setenv(name, value)
		}
		runsOver(t, options(cert))
		if came.Load() == 0 {
			t.Error("the store was not reached by TLS")
		}
	})
	t.Run("by a profile file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "temporal.toml")
		profile := fmt.Sprintf("[profile.there]\naddress = %q\nnamespace = \"default\"\napi_key = %q\n[profile.there.tls]\nclient_cert_path = %q\nclient_key_path = %q\nserver_ca_cert_path = %q\n",
			environment["TEMPORAL_ADDRESS"], temporalKey, cert, key, cert)
		if err := os.WriteFile(file, []byte(profile), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TEMPORAL_CONFIG_FILE", file)
		t.Setenv("TEMPORAL_PROFILE", "there")
		runsOver(t, options(cert))
	})
	for name, c := range map[string]struct {
		root    string
		changed map[string]string
		want    string
	}{
		"no certificate of one's own": {cert, map[string]string{"TEMPORAL_TLS_CLIENT_CERT_PATH": "", "TEMPORAL_TLS_CLIENT_KEY_PATH": ""}, "TEMPORAL_TLS_"},
		"a server that is not known":  {cert, map[string]string{"TEMPORAL_TLS_SERVER_CA_CERT_PATH": other}, "certificate"},
		"another API key":             {cert, map[string]string{"TEMPORAL_API_KEY": "another-key"}, "an API key is wanted"},
		"a store that is not known":   {other, nil, "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range environment {
				if changed, ok := c.changed[name]; ok {
					value = changed
				}
				t.Setenv(name, value)
			}
			a, err := app.API(context.Background(), options(c.root))
			if err == nil {
				t.Fatal("the bridge started", a.Close())
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), temporalKey) || strings.Contains(err.Error(), "another-key") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// runsOver has a bridge and a worker carry a run through its gate.
func runsOver(t *testing.T, o app.Options) {
	t.Helper()
	bridge, err := app.API(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bridge.Close() })
	o.Data = t.TempDir()
	w, err := app.Worker(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	h := &apptest.Holdpoint{App: bridge, T: t, Options: o, Client: bridge.Client()}
	run := h.Begin("go")
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
}
