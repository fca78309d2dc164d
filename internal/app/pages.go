package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"holdpoint/api"
	"holdpoint/api/web"
	"holdpoint/internal/auth"
)

// newPages makes the inbox in the browser, in front of the bridge.
func (a *App) newPages(bridge *api.Server, authn api.Authenticator) (*web.Server, error) {
	key, err := sessionKey(filepath.Join(a.o.Data, privateDir, "session.key"))
	if err != nil {
		return nil, fmt.Errorf("the key of browser sessions: %w", err)
	}
	ways, err := a.signIns()
	if err != nil {
		return nil, err
	}
	return web.New(web.Config{API: bridge, Auth: authn, Key: key, SignIns: ways, Tokens: tokens{a.store}, Loopback: auth.Loopback(a.o.Listen), TemporalUI: a.TemporalUI(),
		Version: a.o.Version, Log: a.log})
}

// sessionKey reads the key that seals sessions, and makes it at first. Bridges that have the same file share sessions.
func sessionKey(path string) ([]byte, error) {
	for range 2 {
		key, err := os.ReadFile(path)
		if err == nil && len(key) < sessionKeyBytes {
			return nil, fmt.Errorf("%s is cut off: remove it, and everyone signs in anew", path)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return key, err
		}
		fresh := make([]byte, sessionKeyBytes)
		if _, err := rand.Read(fresh); err != nil {
			return nil, err
		}
		// Linked into place whole, and never over another process's.
		if err := os.WriteFile(path+".new", fresh, 0o600); err != nil {
			return nil, err
		}
		if err := os.Link(path+".new", path); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if err := os.Remove(path + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return os.ReadFile(path)
}

const sessionKeyBytes = 32

// SignInLink is an address that opens the inbox signed in as the bridge's own principal, once and within an hour.
func (a *App) SignInLink() string {
	if a.pages == nil {
		return ""
	}
	return a.URL() + a.pages.Link(a.token)
}
