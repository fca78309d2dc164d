package builtin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"holdpoint/tool"
)

func TestFetchRefusesPrivateAddressesThatNoRuleNames(t *testing.T) {
	b := browse(t)
	b.private = false
	w := serve(t, says("secret"))
	for _, host := range []string{"127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]", "[::1]"} {
		got := b.get("http://" + host + ":" + w.port() + "/")
		wantPart(t, got, tool.StatusError, "is a private address, and no rule names it, so it was not connected to")
	}
	wantPart(t, b.get("http://localhost:"+w.port()+"/"), tool.StatusError, "localhost has a private address")
	if w.lines() != "" {
		t.Errorf("it was reached: %s", w.lines())
	}
	b.private = true
	for _, host := range []string{"127.0.0.1", "[::ffff:127.0.0.1]", "localhost"} {
		wantPart(t, b.get("http://"+host+":"+w.port()+"/"), tool.StatusSuccess, "secret")
	}
}

func TestTheGuardSeesThroughEveryFormOfAddress(t *testing.T) {
	t.Parallel()
	private := []string{
		"127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
		"168.63.129.16", "::1", "::", "fe80::1%lo", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::10.0.0.1",
		"64:ff9b::169.254.169.254", "64:ff9b:1::a00:1", "2002:7f00:1::", "2001::1", "2600::5efe:10.0.0.1",
	}
	for _, s := range private {
		a := netip.MustParseAddr(s)
		plain := a.WithZone("").Unmap()
		for name, g := range map[string]guard{
			"a name":              {host: "docs.example.com"},
			"another address":     {host: "8.8.8.8", private: true},
			"another private one": {host: "10.99.99.99", private: true},
			"itself, unnamed":     {host: plain.String()},
		} {
			if g.admits(a) {
				t.Errorf("%s admits %s", name, s)
			}
		}
		if g := (guard{host: plain.String(), private: true}); !g.admits(a) {
			t.Errorf("%s is not admitted although a rule names it", s)
		}
		if g := (guard{host: "localhost", private: true}); g.admits(a) != plain.IsLoopback() {
			t.Errorf("localhost at %s: %v", s, g.admits(a))
		}
		if g := (guard{host: "metadata.google.internal", private: true}); g.admits(a) != plain.IsLinkLocalUnicast() {
			t.Errorf("metadata.google.internal at %s: %v", s, g.admits(a))
		}
		usual := (plain.IsPrivate() || plain.IsLoopback() || s == "100.64.0.1") && s != "fd00:ec2::254" // a metadata service
		if g := (guard{host: "wiki.corp.example", listed: true}); g.admits(a) != usual {
			t.Errorf("a listed name at %s: %v", s, g.admits(a))
		}
	}
	for _, s := range []string{"8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"} {
		if g := (guard{host: "docs.example.com"}); !g.admits(netip.MustParseAddr(s)) {
			t.Errorf("%s is not admitted", s)
		}
	}
	for _, s := range []string{"", "127.0.0.1", "x:80", "1.2.3.4:x"} {
		if err := (guard{host: "docs.example.com", private: true}).control(context.Background(), "tcp", s, nil); err == nil {
			t.Errorf("the address %q, which can't be read, is admitted", s)
		}
	}
}

func TestFetchRefusesANameThatLeadsInside(t *testing.T) {
	b := browse(t)
	w := serve(t, says("secret"))
	n := &names{answers: map[string][][]string{
		"inside.test":   {{"127.0.0.1"}},
		"six.test":      {{"::1", "::ffff:127.0.0.1"}},
		"many.test":     {{"10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "64:ff9b::7f00:1"}},
		"metadata.test": {{"169.254.169.254"}},
	}}
	b.change = func(c *fetchConfig) { c.resolver = n.resolver(t) }
	for name := range n.answers {
		for _, b.private = range []bool{false, true} { // a rule that names a private host does not name this one
			got := b.get("http://" + name + ":" + w.port() + "/")
			wantPart(t, got, tool.StatusError, name+" has a private address, so it was not connected to")
			if strings.Contains(got.Content, "127.0.0.1") || strings.Contains(got.Content, "10.0.0.1") {
				t.Errorf("it tells about this network: %q", got.Content)
			}
		}
	}
	wantPart(t, b.get("http://nowhere.test/"), tool.StatusError, "There is no host nowhere.test.")
	if w.lines() != "" {
		t.Errorf("it was reached: %s", w.lines())
	}
}

// A name that is public when it is first looked at and private when it is used is what rebinding is. The name server
// here gives a listed address at first, so that the first request has where to go.
func TestFetchIsNotFooledByANameThatChanges(t *testing.T) {
	b := browse(t)
	w := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/again" {
			says("secret")(rw, r)
			return
		}
		http.Redirect(rw, r, "/again", http.StatusFound)
	})
	n := &names{answers: map[string][][]string{"turns.test": {{"127.0.0.1"}, {"169.254.169.254"}}}}
	resolver := n.resolver(t)
	b.change = func(c *fetchConfig) { c.resolver, c.private = resolver, []string{"turns.test"} }
	got := b.get("http://turns.test:" + w.port() + "/")
	wantPart(t, got, tool.StatusError, "turns.test has a private address, so it was not connected to")
	if w.lines() != "GET /" {
		t.Errorf("what came is %s", w.lines())
	}
}

func TestFetchOfARedirectIsHeldToItsOwnDecision(t *testing.T) {
	b := browse(t)
	inside := serve(t, says("secret"))
	w := serve(t, func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, inside.URL+"/", http.StatusFound) })
	named := false
	b.hop = func(context.Context, json.RawMessage) (bool, error) { return named, nil }
	wantPart(t, b.get(w.URL), tool.StatusError, "127.0.0.1 is a private address, and no rule names it")
	if inside.lines() != "" {
		t.Errorf("it was reached: %s", inside.lines())
	}
	named = true
	wantPart(t, b.get(w.URL), tool.StatusSuccess, "secret")
}

func TestFetchReachesHostsThatTheOperatorListed(t *testing.T) {
	b := browse(t)
	b.private = false
	b.cfg.PrivateHosts = []string{"Wiki.Corp.Example.", "bücher.corp.example"}
	w := serve(t, says("internal"))
	resolver := (&names{answers: map[string][][]string{"wiki.corp.example": {{"127.0.0.1"}}, "xn--bcher-kva.corp.example": {{"127.0.0.1"}},
		"x.wiki.corp.example": {{"127.0.0.1"}}}}).resolver(t)
	b.change = func(c *fetchConfig) { c.resolver = resolver }
	wantPart(t, b.get("http://wiki.corp.example:"+w.port()), tool.StatusSuccess, "internal")
	wantPart(t, b.get("http://BÜCHER.corp.example.:"+w.port()), tool.StatusSuccess, "internal")
	wantPart(t, b.get("http://x.wiki.corp.example:"+w.port()), tool.StatusError, "has a private address")
}

func TestFetchSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]Config{
		`private_hosts[1]: "10.0.0.1" is not the name of a host`: {PrivateHosts: []string{"a.example", "10.0.0.1"}},
		`private_hosts[0]: "*.example" is not the name`:          {PrivateHosts: []string{"*.example"}},
		`private_hosts[0]: "" is not the name`:                   {PrivateHosts: []string{""}},
		`private_hosts[0]: "http://a" is not the name`:           {PrivateHosts: []string{"http://a"}},
		`proxy: is not the URL of a proxy`:                       {Proxy: "proxy:3128"},
		`proxy: is not the URL of a proxy: write`:                {Proxy: "http://u:s3cret@:1/"},
		`proxy: is not the URL`:                                  {Proxy: "socks5://proxy:1080"},
	} {
		err := cfg.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("got %v, want %s", err, want)
		}
		tool, _ := New(NameHTTPFetch, cfg)
		if out, err := tool.Run(context.Background(), (&bench{t: t}).call(NameHTTPFetch, args{"url": "http://127.0.0.1:1/"})); err == nil {
			t.Errorf("wrong settings are passed over: %+v", out)
		}
	}
	if err := (Config{PrivateHosts: []string{"a_b.example"}, Proxy: "http://u:p@proxy.example:3128"}).Validate(); err != nil {
		t.Error(err)
	}
}

// proxyServer is an HTTP proxy that knows one host, whatever it is called.
func proxyServer(t *testing.T, target *web) *web {
	t.Helper()
	return serve(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			says("by way of the proxy: "+r.URL.String())(rw, r)
			return
		}
		up, err := net.Dial("tcp", target.Listener.Addr().String())
		if err != nil {
			panic(err)
		}
		down, buffered, err := rw.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			defer up.Close()
			_, _ = bufio.NewReader(buffered).WriteTo(up)
		}()
		_, _ = io.Copy(down, up)
		_ = down.Close()
	})
}

func TestFetchUsesOnlyAProxyThatIsConfigured(t *testing.T) {
	environment := serve(t, says("stolen"))
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, environment.URL)
	}
	target := serveTLS(t, says("the target"))
	proxy := proxyServer(t, target)
	b := &browser{t: t, private: true}
	resolver := (&names{answers: map[string][][]string{"far.test": {{"10.0.0.1"}}}}).resolver(t)
	b.change = func(c *fetchConfig) { c.resolver = resolver }
	wantPart(t, b.get("http://far.test/"), tool.StatusError, "has a private address")
	if environment.lines() != "" {
		t.Errorf("the environment's proxy got %s", environment.lines())
	}
	b.cfg.Proxy = strings.Replace(proxy.URL, "http://", "http://user:pass@", 1)
	wantPart(t, b.get("http://far.test/x?y=1"), tool.StatusSuccess, "by way of the proxy: http://far.test/x?y=1")
	b.change = func(c *fetchConfig) {
		c.roots = target.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	}
	wantPart(t, b.get("https://example.com/"), tool.StatusSuccess, "the target") // httptest's certificate is for example.com
	wantPart(t, b.run(args{"url": "http://far.test/", "headers": args{"Host": "evil.test"}}), tool.StatusError, "Host header can't be set")
	if got := fmt.Sprint(target.requests()); strings.Contains(got, "dXNlcjpwYXNz") {
		t.Errorf("the target sees the proxy's password: %s", got)
	}
	if proxy.requests()[0].header.Get("Proxy-Authorization") != "Basic dXNlcjpwYXNz" {
		t.Errorf("the proxy got %+v", proxy.requests()[0])
	}
}
