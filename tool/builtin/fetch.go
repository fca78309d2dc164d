package builtin

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// fetch makes one HTTP request and follows its redirects, each of which is decided on like a call (Call.Hop).
//
// What was decided on is a URL, and what is connected to is an address, so the address is looked at again at the
// moment of dialling: see guard. Cookies, the environment's proxy and stored credentials play no part.
type fetch struct {
	cfg fetchConfig
}

// fetchConfig is what a fetch depends on.
type fetchConfig struct {
	timeout time.Duration
	limit   int // bytes of content
	private []string
	proxy   *url.URL
	fault   error // of the configuration: nothing is requested then

	// Only tests set these.
	resolver *net.Resolver
	roots    *x509.CertPool
}

func newFetch(cfg Config) tool.Tool {
	c := fetchConfig{timeout: cfg.Timeout, limit: cfg.MaxOutput}
	c.private, c.proxy, c.fault = cfg.fetch()
	return fetch{c}
}

// Validate returns nil, or an error that begins with the setting that can't be used.
func (c Config) Validate() error {
	_, _, err := c.fetch()
	return err
}

// fetch reads the settings of http_fetch.
func (c Config) fetch() (private []string, proxy *url.URL, err error) {
	for i, name := range c.PrivateHosts {
		host, err := fetchHost(name)
		if _, notName := netip.ParseAddr(host); err != nil || notName == nil {
			return nil, nil, fmt.Errorf("private_hosts[%d]: %q is not the name of a host: write it as wiki.corp.example; "+
				"an address is named by a rule instead", i, name)
		}
		private = append(private, host)
	}
	if c.Proxy == "" {
		return private, nil, nil
	}
	proxy, err = url.Parse(c.Proxy)
	if err != nil || proxy.Scheme != "http" && proxy.Scheme != "https" || proxy.Hostname() == "" {
		return nil, nil, errors.New("proxy: is not the URL of a proxy: write http://host:port") // it may hold a password
	}
	return private, proxy, nil
}

// fetchMethods are what a call may ask for, the default first.
var fetchMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

const fetchSchema = `{
	"type": "object",
	"properties": {
		"url": {"type": "string", "minLength": 1, "maxLength": 8192, "description": "An absolute http or https URL, without user and password."},
		"method": {"type": "string", "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], "description": "GET if absent."},
		"headers": {"type": "object", "maxProperties": 50, "additionalProperties": {"type": "string", "maxLength": 8192}, "description": "Request headers, each name once. Give a Content-Type with a body."},
		"body": {"type": "string", "maxLength": 262144, "description": "The request's body; not for GET and HEAD."}
	},
	"required": ["url"],
	"additionalProperties": false
}`

// Definition says that a fetch is not idempotent: that is said per tool, and while a GET may be repeated after a
// crash, a POST may not. A person is asked instead.
func (f fetch) Definition() tool.Definition {
	return tool.Definition{
		Name: NameHTTPFetch,
		Description: fmt.Sprintf("Makes an HTTP request and returns the status, some headers and the body, if it is text. "+
			"Of a long body the beginning and the end are kept. At most %d redirects are followed, each only if the rules "+
			"allow it by itself; otherwise you are told where it leads. Private addresses are refused unless a rule names "+
			"them. It ends after %s.", maxRedirects, f.cfg.timeout),
		Schema:   json.RawMessage(fetchSchema),
		Resource: tool.ResourceURL,
		Field:    "url",
		Closed:   true,
		Consent:  tool.ConsentAlways,
		Risk:     "medium",
		// The request's own clock ends first, so that what had come is not lost.
		Timeout: f.cfg.timeout + 10*time.Second,
	}
}

// fetchArgs are a call's arguments. A header's value is a pointer so that null is told from "".
type fetchArgs struct {
	URL     string             `json:"url"`
	Method  string             `json:"method,omitempty"`
	Headers map[string]*string `json:"headers,omitempty"`
	Body    string             `json:"body,omitempty"`
}

// maxFetchBody bounds a request's body in bytes.
const maxFetchBody = 256 << 10

// webRequest is one request, checked: a call's own, or that of a redirect.
type webRequest struct {
	method  string
	url     *url.URL
	headers http.Header
	body    string
	private bool // a rule names the private host of url
}

func (f fetch) request(call tool.Call) (webRequest, error) {
	args, err := decode[fetchArgs](call)
	if err != nil {
		return webRequest{}, err
	}
	r := webRequest{method: args.Method, body: args.Body, private: call.Private}
	if r.method == "" {
		r.method = http.MethodGet
	}
	if !slices.Contains(fetchMethods, r.method) {
		return r, refuse("method is %q: use one of %s.", clip(interaction.Visible(r.method), 40), strings.Join(fetchMethods, ", "))
	}
	if r.url, err = fetchURL(args.URL); err != nil {
		return r, err
	}
	if r.headers, err = fetchHeaders(args.Headers); err != nil {
		return r, err
	}
	switch {
	case r.headers.Get("Host") != "" && f.cfg.proxy != nil: // a proxy goes where Host says, not where the URL says
		return r, refuse("The Host header can't be set where requests go through a proxy: put the host into the URL.")
	case r.body != "" && safeMethod(r.method):
		return r, refuse("A %s request has no body: use POST, or remove the body.", r.method)
	case len(r.body) > maxFetchBody:
		return r, refuse("body has %d bytes, and at most %d can be sent.", len(r.body), maxFetchBody)
	}
	return r, nil
}

// safeMethod reports whether a method only reads.
func safeMethod(m string) bool { return m == http.MethodGet || m == http.MethodHead }

// args are the arguments of a call that would make this request.
func (r webRequest) args() (json.RawMessage, error) {
	out := fetchArgs{URL: r.url.String(), Method: r.method, Body: r.body, Headers: map[string]*string{}}
	for name, values := range r.headers {
		out.Headers[name] = &values[0]
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("arguments of a redirect: %w", err)
	}
	return raw, nil
}

// Preview is the request as it would be sent, with every character that can't be seen escaped.
func (f fetch) Preview(_ context.Context, call tool.Call) (string, error) {
	r, err := f.request(call)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.method, r.url)
	for _, name := range sortedNames(r.headers) {
		fmt.Fprintf(&b, "%s: %s\n", name, r.headers.Get(name))
	}
	if r.body != "" {
		b.WriteString("\n" + r.body)
	}
	return clipMiddle(interaction.VisibleLines(b.String()), maxPreview), nil
}

// Run makes the request. An answer with a status of 400 or more, and a redirect that is not followed, are
// failures of the call; both tell the model what came.
func (f fetch) Run(ctx context.Context, call tool.Call) (tool.Outcome, error) {
	r, err := f.request(call)
	if err != nil {
		return tell(err)
	}
	if err := cmp.Or(f.cfg.fault, ctx.Err()); err != nil {
		return tool.Outcome{}, fmt.Errorf("the request was not made: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, f.cfg.timeout)
	defer cancel()
	out, err := f.follow(limited, call, r)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		err = refuse("%s took longer than %s and was stopped.%s", out.trail.subject(), f.cfg.timeout, out.trail.mayHaveActed())
	}
	if err != nil {
		return tell(err)
	}
	return out.outcome(f.cfg.limit), nil
}
