package builtin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdpoint/tool"
)

func TestFetchTellsWhatCame(t *testing.T) {
	b := browse(t)
	w := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		rw.Header().Set("Etag", `"7"`)
		rw.Header().Set("Date", "")
		rw.Header().Set("Set-Cookie", "session=s3cret")
		rw.Header().Set("X-Internal", "s3cret")
		_, _ = io.WriteString(rw, "grüß dich\n")
	})
	got := b.get(w.URL + "/a%20b?q=1#part")
	wantText(t, got, tool.StatusSuccess,
		"HTTP/1.1 200 OK\nContent-Type: text/plain; charset=utf-8\nContent-Length: 12\nEtag: \"7\"\n\ngrüß dich\n")
	if w.lines() != "GET /a%20b?q=1" {
		t.Errorf("what came is %s", w.lines())
	}
	b.get(w.URL)
	came := w.requests()[1]
	if came.line != "GET /" || came.host != w.Listener.Addr().String() || came.body != "" || len(came.header["Cookie"]) > 0 ||
		len(came.header["Authorization"]) > 0 || len(came.header["Referer"]) > 0 || came.header.Get("User-Agent") != "holdpoint" {
		t.Errorf("what came is %+v", came)
	}
}

func TestFetchSendsWhatWasShown(t *testing.T) {
	b := browse(t)
	w := serve(t, says("ok"))
	for _, method := range fetchMethods {
		a := args{"url": w.URL + "/x", "method": method, "headers": args{"x-key": "k", "User-Agent": "mine", "Host": "other.example"}}
		if !safeMethod(method) {
			a["body"] = `{"n": 1}`
		}
		wantPart(t, b.run(a), tool.StatusSuccess, "HTTP/1.1 200 OK")
		all := w.requests()
		came := all[len(all)-1]
		body, _ := a["body"].(string)
		if came.line != method+" /x" || came.body != body || came.header.Get("X-Key") != "k" || came.header.Get("User-Agent") != "mine" ||
			came.host != "other.example" || came.header.Get("Content-Type") != "" {
			t.Errorf("what came is %+v", came)
		}
	}
	preview, err := b.tool().Preview(context.Background(), b.call(args{"url": "HTTPS://Bücher.example:443/a?b=ü#c", "method": "POST",
		"headers": args{"b": "2", "A": "\u202eevil"}, "body": "one\ntwo\u200b"}))
	if want := "POST https://xn--bcher-kva.example/a?b=%C3%BC\nA: \\u202eevil\nB: 2\n\none\ntwo\\u200b"; preview != want || err != nil {
		t.Errorf("the preview is %q, %v; want %q", preview, err, want)
	}
	if preview, err := b.tool().Preview(context.Background(), b.call(args{"url": "https://u:p@x.org/"})); err == nil || preview != "" {
		t.Errorf("what can't be requested has the preview %q", preview)
	}
}

func TestFetchOfAFaultIsAFailureThatShowsTheBody(t *testing.T) {
	b := browse(t)
	w := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/304":
			rw.WriteHeader(http.StatusNotModified)
		case "/204":
			rw.WriteHeader(http.StatusNoContent)
		case "/302": // without Location it is an answer like any other
			rw.WriteHeader(http.StatusFound)
			_, _ = io.WriteString(rw, "nowhere")
		default:
			rw.Header().Set("Retry-After", "7")
			rw.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(rw, "slow down")
		}
	})
	wantPart(t, b.get(w.URL+"/429"), tool.StatusError, "HTTP/1.1 429 Too Many Requests\n", "\nRetry-After: 7\n", "\n\nslow down")
	wantPart(t, b.get(w.URL+"/304"), tool.StatusSuccess, "HTTP/1.1 304 Not Modified")
	wantPart(t, b.get(w.URL+"/204"), tool.StatusSuccess, "HTTP/1.1 204 No Content")
	wantPart(t, b.get(w.URL+"/302"), tool.StatusSuccess, "HTTP/1.1 302 Found", "nowhere")
	got := b.run(args{"url": w.URL, "method": "HEAD"})
	wantPart(t, got, tool.StatusError, "HTTP/1.1 429")
	if strings.Contains(got.Content, "slow down") {
		t.Errorf("HEAD has a body: %q", got.Content)
	}
}

func TestFetchRefusesWhatCanNotBeMeant(t *testing.T) {
	b := browse(t)
	w := serve(t, says("reached"))
	at := strings.TrimPrefix(w.URL, "http://")
	tests := map[string]string{ // arguments, and a part of the answer
		`{}`: "url is missing", `{"url":""}`: "url is missing", `{"url":7}`: "url: must be", `[]`: "must be a JSON object", `{"url":"` + w.URL + `","URL":"x"}`: "URL: is no field",
		`{"url":"` + w.URL + `","url":"` + w.URL + `"}`:                                 "comes twice",
		`{"url":"` + w.URL + `","follow":true}`:                                         "follow: is no field",
		`{"url":"` + w.URL + `"} {}`:                                                    "is not one JSON value",
		`{"url":"` + at + `"}`:                                                          "can't be parsed",
		`{"url":"//` + at + `"}`:                                                        "not http or https",
		`{"url":"ftp://` + at + `"}`:                                                    "not http or https",
		`{"url":"file:///etc/passwd"}`:                                                  "not http or https",
		`{"url":"javascript:alert(1)"}`:                                                 "not http or https",
		`{"url":"http:` + at + `"}`:                                                     "no host",
		`{"url":"http:/` + at + `"}`:                                                    "no host",
		`{"url":"http://"}`:                                                             "no host",
		`{"url":"http:///x"}`:                                                           "no host",
		`{"url":"http://u:p@` + at + `/"}`:                                              "carries a user",
		`{"url":"http://@` + at + `/"}`:                                                 "carries a user",
		`{"url":"http://` + at + `\\@evil.example/"}`:                                   "a backslash",
		`{"url":"http://` + at + `/a b"}`:                                               "a blank",
		`{"url":" ` + w.URL + `"}`:                                                      "a blank",
		`{"url":"` + w.URL + `/\n"}`:                                                    "can't be seen",
		`{"url":"` + w.URL + `/\u200b"}`:                                                "can't be seen",
		`{"url":"` + w.URL + `/\u0000"}`:                                                "can't be seen",
		`{"url":"http://127.0.0.1%00.example/"}`:                                        "can't be parsed",
		`{"url":"http://a%2eb.example/"}`:                                               "can't be parsed",
		`{"url":"http://[fe80::1%25eth0]/"}`:                                            "without a zone",
		`{"url":"http://[::1/"}`:                                                        "can't be parsed",
		`{"url":"http://127.1:` + w.port() + `/"}`:                                      "four decimal numbers",
		`{"url":"http://0x7f.0.0.1:` + w.port() + `/"}`:                                 "four decimal numbers",
		`{"url":"http://2130706433:` + w.port() + `/"}`:                                 "four decimal numbers",
		`{"url":"http://0177.0.0.1:` + w.port() + `/"}`:                                 "four decimal numbers",
		`{"url":"http://999.1.1.1/"}`:                                                   "four decimal numbers",
		`{"url":"http://x.0x7f000001/"}`:                                                "four decimal numbers",
		`{"url":"http://a..b/"}`:                                                        "no valid name",
		`{"url":"http://.a/"}`:                                                          "no valid name",
		`{"url":"http://./"}`:                                                           "no valid name",
		`{"url":"http://xn--a/"}`:                                                       "no valid name",
		`{"url":"http://` + strings.Repeat("a.", 130) + `b/"}`:                          "no valid name",
		`{"url":"http://a:/"}`:                                                          "port",
		`{"url":"http://a:0/"}`:                                                         "port",
		`{"url":"http://a:65536/"}`:                                                     "port",
		`{"url":"http://a:8x/"}`:                                                        "can't be parsed",
		`{"url":"` + w.URL + "/" + strings.Repeat("a", maxURL) + `"}`:                   "at most 8192",
		`{"url":"` + w.URL + `","method":"get"}`:                                        `method is "get"`,
		`{"url":"` + w.URL + `","method":"TRACE"}`:                                      "use one of GET",
		`{"url":"` + w.URL + `","method":"CONNECT"}`:                                    "use one of GET",
		`{"url":"` + w.URL + `","method":"GET /x HTTP/1.1\r\nA: b"}`:                    "use one of GET",
		`{"url":"` + w.URL + `","body":"x"}`:                                            "A GET request has no body",
		`{"url":"` + w.URL + `","method":"HEAD","body":"x"}`:                            "A HEAD request has no body",
		`{"url":"` + w.URL + `","method":"POST","body":{}}`:                             "body: must be",
		`{"url":"` + w.URL + `","headers":[]}`:                                          "headers: must be",
		`{"url":"` + w.URL + `","headers":{"A":1}}`:                                     "headers.A: must be",
		`{"url":"` + w.URL + `","headers":{"A":null}}`:                                  "text of one line",
		`{"url":"` + w.URL + `","headers":{"A":"1\r\nB: 2"}}`:                           "text of one line",
		`{"url":"` + w.URL + `","headers":{"A\r\nB":"1"}}`:                              "not a header's name",
		`{"url":"` + w.URL + `","headers":{"":"1"}}`:                                    "not a header's name",
		`{"url":"` + w.URL + `","headers":{":authority":"x"}}`:                          "not a header's name",
		`{"url":"` + w.URL + `","headers":{"A":"1","a":"2"}}`:                           "comes twice",
		`{"url":"` + w.URL + `","headers":{"Host":"a b"}}`:                              "not a host",
		`{"url":"` + w.URL + `","headers":{"Host":""}}`:                                 "not a host",
		`{"url":"` + w.URL + `","headers":{"transfer-encoding":"chunked"}}`:             "not for a call to set",
		`{"url":"` + w.URL + `","headers":{"Content-Length":"5"}}`:                      "not for a call to set",
		`{"url":"` + w.URL + `","headers":{"Connection":"x"}}`:                          "not for a call to set",
		`{"url":"` + w.URL + `","headers":{"Proxy-Authorization":"x"}}`:                 "not for a call to set",
		`{"url":"` + w.URL + `","headers":{"A":"` + strings.Repeat("x", 40_000) + `"}}`: "at most 32768",
		`{"url":"` + w.URL + `","method":"PUT","body":"` + strings.Repeat("x", maxFetchBody+1) + `"}`: "at most 262144",
	}
	for a, part := range tests {
		if got := b.run(a); got.Status != tool.StatusError || !strings.Contains(got.Content, part) {
			t.Errorf("%.100s: got %s %q, want %q", a, got.Status, got.Content, part)
		}
	}
	many := args{}
	for i := range maxHeaders + 1 {
		many["X-"+strings.Repeat("a", i+1)] = "v"
	}
	wantPart(t, b.run(args{"url": w.URL, "headers": many}), tool.StatusError, "at most 50")
	if n := w.lines(); n != "" {
		t.Errorf("these were requested: %s", n)
	}
}

func TestFetchVerifiesCertificates(t *testing.T) {
	b := browse(t)
	w := serveTLS(t, says("secret"))
	got := b.get(w.URL)
	wantPart(t, got, tool.StatusError, "The certificate of "+w.Listener.Addr().String()+" was not accepted")
	if len(w.requests()) > 0 {
		t.Errorf("it was asked all the same: %s", w.lines())
	}
	b.change = func(c *fetchConfig) { c.roots = w.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs }
	wantPart(t, b.get(w.URL), tool.StatusSuccess, "200 OK", "secret")
	b.change = func(c *fetchConfig) {
		c.roots = w.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		c.resolver = (&names{answers: map[string][][]string{"other.test": {{"127.0.0.1"}}}}).resolver(t)
		c.private = []string{"other.test"}
	}
	wantPart(t, b.get("https://other.test:"+w.port()), tool.StatusError, "was not accepted", "other.test")
}

func TestFetchEndsWithItsCall(t *testing.T) {
	b := browse(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	w := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done() // the connection is gone
		close(ended)
	})
	out, err := b.tool().Run(ctx, b.call(args{"url": w.URL}))
	if out.Result != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("it gave %+v, %v", out.Result, err)
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("the connection stayed")
	}
	if out, err := b.tool().Run(ctx, b.call(args{"url": w.URL})); out.Result != nil || err == nil || len(w.requests()) != 1 {
		t.Errorf("a call that was over before was made: %+v, %v", out.Result, err)
	}
}

func TestFetchSaysThatATimedOutRequestMayHaveActed(t *testing.T) {
	b := browse(t)
	b.cfg.Timeout = 200 * time.Millisecond
	w := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	got := b.run(args{"url": w.URL, "method": "POST", "body": "x"})
	wantText(t, got, tool.StatusError, "POST "+w.URL+" took longer than 200ms and was stopped. The server may have acted on it.")
	got = b.get(w.URL)
	wantText(t, got, tool.StatusError, "GET "+w.URL+" took longer than 200ms and was stopped.")
}

func TestFetchToAServerThatIsNone(t *testing.T) {
	b := browse(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	wantPart(t, b.get(closed.URL), tool.StatusError, "could not be connected to: ", "refused")
	for _, answer := range []string{"", "SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 200_000) + "\r\n\r\nbody", "HTTP/1.1 999999 X\r\n\r\n"} {
		w := serve(t, func(rw http.ResponseWriter, _ *http.Request) { raw(rw, answer) })
		wantPart(t, b.run(args{"url": w.URL, "method": "DELETE"}), tool.StatusError, "gave no answer: ", "may have acted")
	}
}

// raw answers with exactly these bytes, and closes the connection.
func raw(rw http.ResponseWriter, answer string) {
	conn, _, err := rw.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(conn, answer)
	_ = conn.Close()
}
