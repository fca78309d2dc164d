package permission

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// webTarget is one URL in canonical form.
type webTarget struct {
	shown, method string
	scheme, host  string
	port          string
	address       bool
	user          bool
	bare          string // decoded, without what follows ; in its segments
	path, decoded string // cleaned; decoded also has every escape undone
	fault         string
	private       bool
}

// maxURL bounds a URL; longer ones ask.
const maxURL = 8192

func parseTarget(raw, method string) webTarget {
	t := webTarget{shown: raw, method: strings.ToUpper(method)}
	if t.method == "" {
		t.method = "GET"
	}
	if reason := rawURLFault(raw); reason != "" {
		t.fault = reason
	}
	// A deny is tried even on a URL that can't be approved, so the text is
	// mended for parsing only.
	mended := strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f {
			return -1
		}
		if r == '\\' {
			return '/'
		}
		return r
	}, raw)
	u, err := url.Parse(mended)
	if err != nil {
		t.setFault("the URL cannot be parsed")
		return t
	}
	t.scheme = strings.ToLower(u.Scheme)
	t.user = u.User != nil
	if t.scheme != "http" && t.scheme != "https" {
		t.setFault("the URL is not http or https")
	}
	if t.user {
		t.setFault("the URL carries user information")
	}
	t.setHost(u)
	t.setPath(u.EscapedPath())
	return t
}

func (t *webTarget) setFault(text string) {
	if t.fault == "" {
		t.fault = text
	}
}

func rawURLFault(raw string) string {
	if odd := oddText(raw, ""); odd != "" {
		return "the URL contains " + odd
	}
	switch {
	case len(raw) > maxURL:
		return fmt.Sprintf("the URL is longer than %d bytes", maxURL)
	case strings.ContainsRune(raw, '\\'):
		return "the URL contains a backslash"
	case strings.ContainsRune(raw, ' '):
		return "the URL contains a blank"
	}
	_, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return "the URL has no scheme"
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if strings.ContainsRune(rest, '%') {
		return "the URL's host contains a percent sign"
	}
	return ""
}

func (t *webTarget) setHost(u *url.URL) {
	name := u.Hostname()
	t.port = u.Port()
	if t.port == "" {
		if strings.HasSuffix(u.Host, ":") {
			t.setFault("the URL has an empty port")
		}
		t.port = defaultPort(t.scheme)
	} else if n, err := strconv.ParseUint(t.port, 10, 16); err != nil || n == 0 {
		t.setFault("the URL's port is not a number from 1 to 65535")
	} else {
		t.port = strconv.FormatUint(n, 10)
	}
	host, address, err := canonicalHost(name)
	if err != nil {
		t.setFault("the URL's host is not usable: " + err.Error())
		return
	}
	t.host, t.address = host, address
	t.private = privateHost(host, address)
}

// maxEncodings bounds how often a path may be encoded within itself.
const maxEncodings = 8

// segmentParameters are what many servers drop from a segment.
var segmentParameters = regexp.MustCompile(`;[^/]*`)

// setPath cleans the path twice over: once with the escapes of ordinary
// characters undone, once with every escape undone, since servers differ on
// %2f. A rule must hold for both to allow.
func (t *webTarget) setPath(escaped string) {
	plain := decodePath(escaped, true)
	full := escaped
	for rounds := 0; ; rounds++ {
		next := decodePath(full, false)
		if next == full {
			break
		}
		if full = next; rounds == maxEncodings {
			t.setFault("the URL's path is encoded too many times")
			break
		}
	}
	t.path, t.decoded = cleanURLPath(plain), cleanURLPath(strings.ReplaceAll(full, `\`, "/"))
	t.bare = cleanURLPath(segmentParameters.ReplaceAllString(t.decoded, ""))
	for segment := range strings.SplitSeq(full, "/") {
		if name, _, ok := strings.Cut(segment, ";"); ok && (name == "." || name == "..") {
			t.setFault("the URL's path hides a dot segment behind a semicolon")
		}
	}
	if odd := oddText(full, ""); odd != "" {
		t.setFault("the URL's path contains " + odd)
	}
}

// decodePath undoes percent escapes; with plainOnly not those of characters
// that would then divide the path.
func decodePath(s string, plainOnly bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if c := byte(n); err == nil && (!plainOnly || c >= ' ' && strings.IndexByte(`/\%?#`, c) < 0) {
				b.WriteByte(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func cleanURLPath(s string) string {
	clean := path.Clean("/" + s)
	if clean != "/" && (strings.HasSuffix(s, "/") || strings.HasSuffix(s, "/.") || strings.HasSuffix(s, "/..")) {
		clean += "/"
	}
	return clean
}

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

// splitPort cuts host and port, brackets included.
func splitPort(s string) (host, port string, err error) {
	if strings.HasPrefix(s, "[") {
		inner, rest, ok := strings.Cut(s[1:], "]")
		if !ok || rest != "" && rest[0] != ':' {
			return "", "", errors.New(`the "[" of the address is not closed properly`)
		}
		host, port = inner, strings.TrimPrefix(rest, ":")
	} else {
		host, port, _ = strings.Cut(s, ":")
	}
	if port == "" {
		return host, "", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", "", fmt.Errorf("the port %q is not a number from 1 to 65535", port)
	}
	return host, strconv.FormatUint(n, 10), nil
}

// canonicalHost gives one spelling per host: ASCII, lower case, no final dot,
// addresses in their usual form whatever base they were written in.
func canonicalHost(name string) (host string, address bool, err error) {
	switch {
	case name == "":
		return "", false, errors.New("it is empty")
	case strings.HasSuffix(name, ".."):
		return "", false, errors.New("it has an empty label")
	}
	if strings.ContainsRune(name, ':') {
		a, err := netip.ParseAddr(name)
		if err != nil || a.Zone() != "" {
			return "", false, errors.New("it is not an IPv6 address")
		}
		return a.Unmap().String(), true, nil
	}
	ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(name, "."))
	if err != nil && asciiName(name) && !strings.Contains(strings.ToLower(name), "xn--") && plainHost(name) {
		// Underscores and the like are refused by IDNA and used in practice.
		ascii, err = strings.ToLower(strings.TrimSuffix(name, ".")), nil
	}
	if err != nil {
		return "", false, errors.New("it is not a valid international name")
	}
	ascii = strings.TrimSuffix(ascii, ".")
	if a, ok := anyBaseIPv4(ascii); ok {
		return a.String(), true, nil
	}
	if ascii == "" || strings.HasPrefix(ascii, ".") || strings.Contains(ascii, "..") {
		return "", false, errors.New("it has an empty label")
	}
	if last := ascii[strings.LastIndexByte(ascii, '.')+1:]; last[0] >= '0' && last[0] <= '9' {
		return "", false, errors.New("it looks like an address and is none")
	}
	return ascii, false, nil
}

func plainHost(s string) bool {
	for i := range len(s) {
		if !isWordByte(s[i]) && s[i] != '-' && s[i] != '.' {
			return false
		}
	}
	return true
}

// anyBaseIPv4 reads the forms inet_aton takes: one to four numbers, decimal,
// octal or hexadecimal, the last filling the remaining bytes.
func anyBaseIPv4(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var n uint64
	for i, part := range parts {
		v, ok := anyBase(part)
		width := 8
		if i == len(parts)-1 {
			width = 8 * (5 - len(parts))
		}
		if !ok || v >= 1<<width {
			return netip.Addr{}, false
		}
		n = n<<width | v
	}
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), true
}

func anyBase(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
		if s == "" {
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	if s == "" || s[0] == '+' || s[0] == '-' {
		return 0, false
	}
	v, err := strconv.ParseUint(s, base, 64)
	return v, err == nil
}
