package builtin

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/idna"

	"holdpoint/interaction"
)

// maxURL bounds a URL in bytes, as the permission engine does.
const maxURL = 8192

// fetchURL reads a URL in the only way in which it can be meant, and returns it as it is requested: an ASCII host in
// lower case, no fragment. What programs read in different ways is refused, although a person may have approved it:
// what was shown must be what is reached.
func fetchURL(raw string) (*url.URL, error) {
	switch {
	case raw == "":
		return nil, refuse("url is missing: write https://host/path.")
	case len(raw) > maxURL:
		return nil, refuse("The URL has %d bytes, and at most %d are taken.", len(raw), maxURL)
	case strings.ContainsAny(raw, ` \`) || interaction.Visible(raw) != raw || !utf8.ValidString(raw):
		return nil, refuse("The URL holds a blank, a backslash or a character that can't be seen: write it as %%XX, or remove it.")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, refuse("The URL can't be parsed: write https://host/path.")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refuse("The URL is not http or https: only these can be requested.")
	case u.Opaque != "" || u.Host == "":
		return nil, refuse("The URL has no host: write %s://host/path.", u.Scheme)
	case u.User != nil:
		return nil, refuse("The URL carries a user or password: remove it, and send an Authorization header if one is needed.")
	}
	host, err := fetchHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	port, err := fetchPort(u)
	if err != nil {
		return nil, err
	}
	u.Host = host
	switch {
	case port != "":
		u.Host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		u.Host = "[" + host + "]"
	}
	u.RawQuery = asciiQuery(u.RawQuery)
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// fetchPort is the URL's port, "" where it is the scheme's own.
func fetchPort(u *url.URL) (string, error) {
	text := u.Port()
	if text == "" && !strings.HasSuffix(u.Host, ":") {
		return "", nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", refuse("The URL's port is not a number from 1 to 65535.")
	}
	if n == 80 && u.Scheme == "http" || n == 443 && u.Scheme == "https" {
		return "", nil
	}
	return strconv.FormatUint(n, 10), nil
}

// maxHostName is the longest name that the domain name system has.
const maxHostName = 253

// fetchHost gives one spelling per host, the one that the permission engine judges by. An address that is not
// written in its usual form is refused: resolvers differ on it.
func fetchHost(name string) (string, error) {
	if strings.Contains(name, ":") {
		a, err := netip.ParseAddr(name)
		if err != nil || a.Zone() != "" {
			return "", refuse("The URL's host is not an IPv6 address without a zone.")
		}
		return a.Unmap().String(), nil
	}
	host, err := idna.Lookup.ToASCII(strings.TrimSuffix(name, "."))
	if err != nil && plainName(name) {
		host, err = strings.ToLower(strings.TrimSuffix(name, ".")), nil // with an underscore, say
	}
	host = strings.TrimSuffix(host, ".")
	labels := strings.Split(host, ".")
	if err != nil || len(host) > maxHostName || slices.Contains(labels, "") {
		return "", refuse("The URL's host is no valid name.")
	}
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' {
		if a, err := netip.ParseAddr(host); err != nil || a.String() != host {
			return "", refuse("The URL's host looks like an IPv4 address and is not written as four decimal numbers: write it so.")
		}
	}
	return host, nil
}

// plainName reports whether a name is plain ASCII and has no encoded label, so that IDNA is not needed for it.
func plainName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (s[i] < '0' || s[i] > '9') && !strings.ContainsRune("-._", rune(s[i])) {
			return false
		}
	}
	return !strings.Contains(strings.ToLower(s), "xn--")
}

// asciiQuery escapes what a request's first line can't hold.
func asciiQuery(q string) string {
	var b strings.Builder
	for i := range len(q) {
		if c := q[i]; c > ' ' && c < 0x7f {
			b.WriteByte(c)
			continue
		}
		b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(q[i])|0x100, 16)[1:]))
	}
	return b.String()
}

// What headers a request may have.
const (
	maxHeaders     = 50
	maxHeaderBytes = 32 << 10 // of all names and values
)

// ownHeaders say where a message ends and belong to the connection; only this tool sets them.
var ownHeaders = []string{
	"Connection", "Content-Length", "Expect", "Http2-Settings", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// fetchHeaders checks a call's headers and returns them with one value each, Host among them.
func fetchHeaders(in map[string]*string) (http.Header, error) {
	if len(in) > maxHeaders {
		return nil, refuse("There are %d headers, and at most %d can be sent.", len(in), maxHeaders)
	}
	out, size := http.Header{}, 0
	for name, value := range in {
		shown := clip(interaction.Visible(name), 80)
		key := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, refuse("headers: %q is not a header's name.", shown)
		case value == nil || !httpguts.ValidHeaderFieldValue(*value):
			return nil, refuse("headers.%s: its value must be text of one line.", shown)
		case slices.Contains(ownHeaders, key) || strings.HasPrefix(key, "Proxy-"):
			return nil, refuse("headers.%s: it is not for a call to set: remove it.", shown)
		case key == "Host" && (*value == "" || !httpguts.ValidHostHeader(*value)):
			return nil, refuse("headers.%s: it is not a host: write host or host:port.", shown)
		case out[key] != nil:
			return nil, refuse("headers.%s: it comes twice, in different case: give it once.", shown)
		}
		out[key] = []string{*value}
		size += len(key) + len(*value)
	}
	if size > maxHeaderBytes {
		return nil, refuse("The headers have %d bytes, and at most %d can be sent.", size, maxHeaderBytes)
	}
	return out, nil
}

func sortedNames(h http.Header) []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
