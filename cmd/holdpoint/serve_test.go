package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestTheSizeOfTheWorkflowCacheIsGivenToWhatHasAWorker(t *testing.T) {
	t.Parallel()
	root, _ := newRoot(&cli{out: io.Discard, err: io.Discard, in: strings.NewReader(""),
		getenv: func(string) (string, bool) { return "", false }, now: time.Now})
	for command, has := range map[string]bool{"dev": true, "worker": true, "api": false} {
		cmd, _, err := root.Find([]string{command})
		if err != nil {
			t.Fatal(err)
		}
		f := cmd.Flags().Lookup("cache")
		if (f != nil) != has {
			t.Errorf("%s has --cache: %v", command, f != nil)
		}
		if f == nil {
			continue
		}
		if f.Value.String() != "0" { // which leaves the SDK's own
			t.Errorf("%s: the default is %s", command, f.Value)
		}
		if err := cmd.ParseFlags([]string{"--cache", "100"}); err != nil || f.Value.String() != "100" {
			t.Errorf("%s --cache 100 is %s, %v", command, f.Value, err)
		}
		for _, text := range []string{"0", "-1", "many", "", "1e3"} {
			if cmd.ParseFlags([]string{"--cache", text}) == nil {
				t.Errorf("%s --cache %q was taken", command, text)
			}
		}
	}
}

func TestABridgeThatCannotBeTalkedToIsToldWithWhatToDo(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	open := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(open.Close)
	for addr, want := range map[string]string{
		secure.URL: "is not trusted here: check the address, or name the file of its authority's certificate with SSL_CERT_FILE",
		strings.Replace(secure.URL, "https:", "http:", 1): "speaks TLS: write https:// in the address",
		strings.Replace(open.URL, "http:", "https:", 1):   "does not speak TLS: write http:// in the address",
	} {
		base, err := parseAddr(addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newClient(base, "token").do(t.Context(), call{method: "GET", path: "/v1/runs"}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
