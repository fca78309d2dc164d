package builtin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// maxRedirects is how many redirects one call follows.
const maxRedirects = 5

// trail is the way that a call went.
type trail struct {
	at    webRequest // the last request that was made
	steps []string   // the redirects that were followed
	wrote string     // a method among them that may have changed something
}

func (t trail) subject() string {
	if t.at.url == nil {
		return "The request"
	}
	return t.at.method + " " + shownURL(t.at.url)
}

func (t trail) mayHaveActed() string { return mayHaveActed(t.wrote) }

func (t *trail) begin(r webRequest) {
	t.at = r
	if t.wrote == "" || !safeMethod(r.method) {
		t.wrote = r.method
	}
}

// follow makes the request and goes on to where it is sent. What it returns has the trail also beside an error.
func (f fetch) follow(ctx context.Context, call tool.Call, r webRequest) (fetched, error) {
	var out fetched
	for {
		out.trail.begin(r)
		resp, err := f.send(ctx, r)
		if err != nil {
			return out, exchangeError(ctx, r, err)
		}
		next, why, redirects := redirect(r, resp)
		if !redirects {
			defer resp.Body.Close()
			out.take(r.method, resp)
			return out, nil
		}
		_ = resp.Body.Close()
		if why == "" && len(out.trail.steps) == maxRedirects {
			why = fmt.Sprintf("%d redirects were followed already", maxRedirects)
		}
		if why == "" {
			next.private, why = decideHop(ctx, call, next)
		}
		if why != "" {
			out.head = responseHead(resp)
			out.fail(stoppedText(next, resp, why))
			return out, nil
		}
		out.trail.steps = append(out.trail.steps, fmt.Sprintf("%d: %s %s leads to %s", resp.StatusCode, r.method, shownURL(r.url), shownURL(next.url)))
		r = next
	}
}

// decideHop asks whether a redirect may be followed. Anything but a plain yes is a reason not to.
func decideHop(ctx context.Context, call tool.Call, next webRequest) (private bool, why string) {
	if call.Hop == nil {
		return false, "redirects are not followed here"
	}
	args, err := next.args()
	if err == nil {
		private, err = call.Hop(ctx, args)
	}
	if err != nil {
		return false, strings.TrimSuffix(clip(interaction.Visible(err.Error()), 500), ".")
	}
	return private, ""
}

// redirect is the request that an answer sends on to. why says what stands against making it, whatever the rules say;
// next is then the zero value where there is no such request.
func redirect(r webRequest, resp *http.Response) (next webRequest, why string, redirects bool) {
	location := resp.Header.Get("Location")
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return next, "", false
	}
	if location == "" {
		return next, "", false
	}
	to, err := r.url.Parse(location)
	if err == nil {
		to, err = fetchURL(to.String())
	}
	if err != nil {
		return next, "it is not a URL that can be requested", true
	}
	next = webRequest{method: r.method, url: to, headers: r.headers.Clone(), body: r.body}
	if why = next.becomes(resp.StatusCode); why != "" {
		return next, why, true
	}
	next.headers.Del("Host") // it was meant for the first request
	if sameOrigin(r.url, to) {
		return next, "", true
	}
	if next.body != "" {
		return next, "its body would go to another origin", true
	}
	for name := range next.headers {
		if !travels(name) {
			next.headers.Del(name)
		}
	}
	return next, "", true
}

// becomes makes of a request what a redirect of that status makes of it.
func (r *webRequest) becomes(status int) (why string) {
	toGET := false
	switch status {
	case http.StatusSeeOther:
		toGET = !safeMethod(r.method)
	case http.StatusMovedPermanently, http.StatusFound:
		// What a POST becomes is custom; of the others, programs make different things.
		toGET = r.method == http.MethodPost
		if !toGET && !safeMethod(r.method) {
			return "it is not clear whether a " + r.method + " is meant to be repeated there"
		}
	}
	if !toGET {
		return ""
	}
	r.method, r.body = http.MethodGet, ""
	for name := range r.headers {
		if strings.HasPrefix(name, "Content-") {
			r.headers.Del(name)
		}
	}
	return ""
}

// travels names the headers that another origin may see. Any other may be a secret, whatever it is called.
func travels(name string) bool {
	return name == "Accept" || name == "Accept-Language" || name == "User-Agent"
}

// sameOrigin compares what fetchURL returned, which leaves out a scheme's own port.
func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// stoppedText says where a redirect leads that was not followed, and how to go there all the same.
func stoppedText(next webRequest, resp *http.Response, why string) string {
	if next.url == nil {
		return fmt.Sprintf("The redirect was not followed: %s. It leads to: %s", why, clip(interaction.Visible(resp.Header.Get("Location")), 300))
	}
	return fmt.Sprintf("The redirect was not followed: %s. It leads to: %s %s . If you need it, request it by a call of its own.",
		why, next.method, clip(interaction.Visible(next.url.String()), 1000))
}
