package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheBridgeRefusesToListenInTheOpen begins bridges that would let strangers in, or show tokens on the way. Each is
// refused at its start, with what would mend it.
func TestTheBridgeRefusesToListenInTheOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("type: session_store\nname: s\nstore_type: sqlite\ndsn: h.db\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"nobody is asked who they are": {func(o *Options) { o.Listen = "0.0.0.0:0" }, "no authentication is configured"},
		"nor behind a proxy":           {func(o *Options) { o.BehindProxy = true }, "behind a proxy everybody may come"},
		"a token in clear":             {func(o *Options) { o.Listen, o.Token = "0.0.0.0:0", "0123456789abcdef" }, "would go there in clear"},
		"half of a certificate":        {func(o *Options) { o.TLSCert = filepath.Join(dir, "config.yaml") }, "--tls-key"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Config: filepath.Join(dir, "config.yaml"), Data: t.TempDir(), Listen: "127.0.0.1:0", Getenv: func(string) (string, bool) { return "", false }}
			c.change(&o)
			a, err := newApp(o)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if err := a.prepare(t.Context(), "bridge"); err != nil {
				t.Fatal(err)
			}
			err = a.startBridge(t.Context(), false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
