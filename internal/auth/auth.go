// Package auth tells who sends an HTTP request: by a bearer token that is configured (Tokens) or kept in the store
// (Issued), by a JWT of an OpenID Connect issuer (OIDC), by the first of several that knows them (Chain), or, on a
// machine's own loopback where nothing is configured, the one person who works there (Local). Tokens are kept and
// compared as SHA-256 hashes, so neither the configuration, the database nor a dump of memory gives one away, and
// comparing takes the same time for every one. They are random, so a slower hash would protect nothing.
//
// Start at New; CheckListen says where a bridge may listen.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"holdpoint/interaction"
)

// HashPrefix begins a token that is configured as the hash of one: "sha256:" and 64 hexadecimal digits.
const HashPrefix = "sha256:"

// MinTokenBytes is the least length of a token that is configured in clear: shorter ones can be guessed.
const MinTokenBytes = 16

// maxHeaderBytes bounds the credentials that are looked at.
const maxHeaderBytes = 16 << 10

// Roles are those that a principal may have: a user starts runs and sees their own, a reviewer sees and answers what
// is addressed to them, an admin sees and controls everything, and act_for may name others as the user of a run or the
// reviewer of an answer: it is for programs that know by their own means who their people are.
func Roles() []string { return []string{"user", "reviewer", "admin", "act_for"} }

// checkRoles refuses roles that are none, and no role at all.
func checkRoles(roles []string) error {
	if len(roles) == 0 {
		return fmt.Errorf("it has no role; use some of %s", strings.Join(Roles(), ", "))
	}
	for _, r := range roles {
		if !slices.Contains(Roles(), r) {
			return fmt.Errorf("%q is no role; use some of %s", r, strings.Join(Roles(), ", "))
		}
	}
	return nil
}

// Token is a configured token and whose it is.
type Token struct {
	// Token is the token, or HashPrefix and its SHA-256 in hex.
	Token     string
	Principal interaction.Principal
}

// Tokens authenticates by static bearer tokens.
type Tokens struct{ entries []entry }

type entry struct {
	hash      [sha256.Size]byte
	principal interaction.Principal
}

// New checks the tokens: each is long enough or a hash, no two are the same, and each belongs to a principal with an id
// and known roles. Errors name the token by its place and principal, never by its text.
func New(tokens []Token) (*Tokens, error) {
	if len(tokens) == 0 {
		return nil, errors.New("auth: no token is configured")
	}
	t := &Tokens{}
	var errs []error
	for n, tok := range tokens {
		e, err := newEntry(tok)
		if err == nil && slices.ContainsFunc(t.entries, func(o entry) bool { return o.hash == e.hash }) {
			err = errors.New("the same token is configured twice; it can mean one principal only")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("auth: token %d (of %q): %w", n+1, tok.Principal.ID, err))
			continue
		}
		t.entries = append(t.entries, e)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return t, nil
}

func newEntry(tok Token) (entry, error) {
	e := entry{principal: tok.Principal}
	if tok.Principal.ID == "" {
		return e, errors.New("it has no principal id")
	}
	if err := checkRoles(tok.Principal.Roles); err != nil {
		return e, err
	}
	if h, ok := strings.CutPrefix(tok.Token, HashPrefix); ok {
		b, err := hex.DecodeString(h)
		if err != nil || len(b) != sha256.Size {
			return e, fmt.Errorf("after %q must come 64 hexadecimal digits", HashPrefix)
		}
		e.hash = [sha256.Size]byte(b)
		return e, nil
	}
	if len(tok.Token) < MinTokenBytes {
		return e, fmt.Errorf("it has %d bytes; use at least %d, or holdpoint's own random one", len(tok.Token), MinTokenBytes)
	}
	if strings.ContainsFunc(tok.Token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return e, errors.New("it has characters that an HTTP header can't carry; use printable ASCII without blanks")
	}
	e.hash = sha256.Sum256([]byte(tok.Token))
	return e, nil
}

// Authenticate returns the principal of a request's bearer token. ok is false when there is none, several, or an
// unknown one.
func (t *Tokens) Authenticate(r *http.Request) (p interaction.Principal, ok bool, err error) {
	token, ok := bearer(r)
	if !ok {
		return p, false, nil
	}
	hash, found := sha256.Sum256([]byte(token)), -1
	for n, e := range t.entries { // all of them, so that the time tells nothing
		if subtle.ConstantTimeCompare(hash[:], e.hash[:]) == 1 {
			found = n
		}
	}
	if found < 0 {
		return p, false, nil
	}
	return clone(t.entries[found].principal), true, nil
}

func bearer(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 || len(values[0]) > maxHeaderBytes {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// clone keeps callers from changing what is configured.
func clone(p interaction.Principal) interaction.Principal {
	p.Groups, p.Roles = slices.Clone(p.Groups), slices.Clone(p.Roles)
	return p
}

// Local takes every request without credentials for one principal's. It is for loopback without tokens, and nowhere
// else: see CheckListen. Who shows a token wants to be somebody else, and is not let in as this one.
type Local struct{ Principal interaction.Principal }

// Authenticate returns the principal.
func (l Local) Authenticate(r *http.Request) (interaction.Principal, bool, error) {
	if len(r.Header.Values("Authorization")) > 0 {
		return interaction.Principal{}, false, nil
	}
	return clone(l.Principal), l.Principal.ID != "", nil
}

// TokenPrefix begins the tokens that NewToken makes, so that a scanner for leaked secrets knows one.
const TokenPrefix = "hpt_"

// NewToken makes a random token of 256 bits.
func NewToken() string { return TokenPrefix + rand.Text() + rand.Text() }

// Hash is the form in which a token can be configured without being readable.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return HashPrefix + hex.EncodeToString(sum[:])
}

// CheckListen refuses to listen beyond loopback without authentication.
func CheckListen(addr string, authConfigured bool) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return fmt.Errorf("auth: listen address %q: %w; write host:port, such as 127.0.0.1:8080", addr, err)
	}
	if authConfigured || Loopback(addr) {
		return nil
	}
	return fmt.Errorf("auth: %q can be reached from other machines, and no authentication is configured: "+
		"configure tokens (type: auth), or listen on 127.0.0.1", addr)
}

// Loopback reports whether a listen address can be reached from its own machine only. A name other than localhost is
// taken for reachable, whatever it resolves to now.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
