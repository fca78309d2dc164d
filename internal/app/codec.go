package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/converter"

	"holdpoint/api"
	"holdpoint/internal/auth"
	"holdpoint/internal/seal"
)

// maxCodecBytes bounds what the codec server takes at once: some payloads of 2 MB, in base64.
const maxCodecBytes = 16 << 20

// Codec serves Temporal's protocol of remote codecs, so that its web UI and command line show what is sealed to those who
// may see it: admins. origins are the pages that may ask, the UI's.
func Codec(ctx context.Context, o Options, origins []string) (*App, error) {
	a, err := newApp(o)
	if err != nil {
		return nil, err
	}
	if err := a.startCodec(ctx, origins); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *App) startCodec(ctx context.Context, origins []string) error {
	if err := a.openKeys(ctx); err != nil {
		return err
	}
	if a.keys == nil {
		return fmt.Errorf("there is no key: set one of %s, %s and %s", seal.EnvKeys, seal.EnvFile, seal.EnvCommand)
	}
	authn, err := a.ownAuth()
	if err != nil {
		return err
	}
	if err := auth.CheckListen(a.o.Listen, a.token != ""); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", a.o.Listen)
	if err != nil {
		return fmt.Errorf("the codec can't listen on %s: %w: choose another address with --listen", a.o.Listen, err)
	}
	a.bridge = &bridge{addr: listener.Addr().String(), net: listener, http: &http.Server{
		Handler:     codecHandler(a.keys, authn, origins),
		ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}}
	go func() {
		if err := a.bridge.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.fail(fmt.Errorf("codec: %w", err))
		}
	}()
	a.closing(a.bridge.http.Close)
	return nil
}

// openKeys finds the keys that seal what Temporal stores; none is right, too.
func (a *App) openKeys(ctx context.Context) (err error) {
	a.keys, err = seal.Load(ctx, a.o.Getenv)
	return err
}

func codecHandler(keys *seal.Ring, authn api.Authenticator, origins []string) http.Handler {
	codec := converter.NewPayloadCodecHTTPHandler(seal.NewCodec(keys))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if origin := r.Header.Get("Origin"); origin != "" {
			if !slices.Contains(origins, strings.TrimSuffix(origin, "/")) {
				http.Error(w, "pages of this origin may not ask: name it with --ui-origin", http.StatusForbidden)
				return
			}
			w.Header().Set("Vary", "Origin")
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Methods", "POST, OPTIONS")
			w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		p, known, err := authn.Authenticate(r)
		switch {
		case err != nil:
			http.Error(w, "who you are could not be found out; try again", http.StatusServiceUnavailable)
		case !known:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "send the token of an admin: Authorization: Bearer TOKEN", http.StatusUnauthorized)
		case !slices.Contains(p.Roles, api.RoleAdmin):
			http.Error(w, "only an admin may see what is sealed", http.StatusForbidden)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxCodecBytes)
			codec.ServeHTTP(w, r)
		}
	})
}
