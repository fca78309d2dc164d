// Package authtest is an OpenID Connect issuer for tests: discovery, keys that rotate, a page at which people sign in,
// and a token endpoint that takes a code once and checks who asks. It speaks the protocol over real sockets; what it
// says of whom, and what it gets wrong, is for the test to choose. Start at NewIssuer.
package authtest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Issuer is the server. Change its fields in Set.
type Issuer struct {
	*httptest.Server
	// Now is the time at which its tokens are made. Defaults to time.Now.
	Now func() time.Time
	// Down has it answer nothing but 502.
	Down bool
	// Discovered counts how often it was asked what it is, and Fetched how often for its keys.
	Discovered, Fetched int
	// ClientID and ClientSecret are the one application's that it knows; without a secret, PKCE alone proves who asks.
	ClientID, ClientSecret string
	// Callback is the address to which it sends people back, and to no other.
	Callback string
	// People are those who can sign in, with what their ID tokens say beyond the usual.
	People map[string]map[string]any

	mu    sync.Mutex
	keys  map[string]*rsa.PrivateKey
	codes map[string]url.Values
}

// NewIssuer starts an issuer with keys of these ids.
func NewIssuer(t testing.TB, kids ...string) *Issuer {
	t.Helper()
	i := &Issuer{Now: time.Now, keys: map[string]*rsa.PrivateKey{}, codes: map[string]url.Values{}}
	for _, kid := range kids {
		i.Rotate(t, kid)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.jwks)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("GET /decided", i.decided)
	mux.HandleFunc("POST /token", i.token)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.Down {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

// Rotate makes the key of an id, or another one in its place.
func (i *Issuer) Rotate(t testing.TB, kid string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i.Set(func() { i.keys[kid] = key })
}

// Set changes the issuer between two requests.
func (i *Issuer) Set(change func()) { i.mu.Lock(); defer i.mu.Unlock(); change() }

// Key is the private key of an id.
func (i *Issuer) Key(kid string) *rsa.PrivateKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[kid]
}

// Claims are those of a good token for alice, with changes; nil takes one away.
func (i *Issuer) Claims(change map[string]any) map[string]any {
	now := i.Now()
	c := map[string]any{"iss": i.URL, "aud": "holdpoint", "sub": "alice", "groups": []string{"ops"}, "exp": now.Add(time.Hour).Unix(), "iat": now.Unix()}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// Sign makes a token with the key of that id.
func (i *Issuer) Sign(kid string, change map[string]any) string {
	return i.sign(kid, i.Key(kid), change)
}

func (i *Issuer) sign(kid string, key *rsa.PrivateKey, change map[string]any) string {
	text := Encode(map[string]any{"alg": "RS256", "kid": kid, "typ": "JWT"}, i.Claims(change))
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err) // a key of 2048 bits signs
	}
	return text + "." + Base64(sig)
}

// Encode is a JWT's first two parts.
func Encode(header, claims map[string]any) string {
	h, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	c, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	return Base64(h) + "." + Base64(c)
}

// Base64 is the encoding of a JWT's parts.
func Base64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	i.Discovered++
	answer(w, http.StatusOK, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize",
		"token_endpoint": i.URL + "/token", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}})
}

func (i *Issuer) jwks(w http.ResponseWriter, _ *http.Request) {
	i.Fetched++
	keys := []any{}
	for kid, k := range i.keys {
		keys = append(keys, map[string]any{"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256", "n": Base64(k.N.Bytes()), "e": Base64(big.NewInt(int64(k.E)).Bytes())})
	}
	answer(w, http.StatusOK, map[string]any{"keys": keys})
}

// authorize is the page at which a person says who they are.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != i.ClientID || q.Get("redirect_uri") != i.Callback || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" {
		http.Error(w, "This issuer knows no such application: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, "<!doctype html><title>Issuer</title><h1>Who are you?</h1>")
	for _, who := range append([]string{"nobody"}, keysOf(i.People)...) {
		q.Set("person", who)
		fmt.Fprintf(w, `<p><a id="%s" href="/decided?%s">%[1]s</a>`, html.EscapeString(who), html.EscapeString(q.Encode()))
	}
}

func keysOf(m map[string]map[string]any) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// decided sends the person back.
func (i *Issuer) decided(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back := url.Values{"state": {q.Get("state")}, "iss": {i.URL}}
	if _, known := i.People[q.Get("person")]; known {
		code := rand.Text()
		i.codes[code] = q
		back.Set("code", code)
	} else {
		back.Set("error", "access_denied")
		back.Set("error_description", "<b>The person said no.</b>")
	}
	http.Redirect(w, r, i.Callback+"?"+back.Encode(), http.StatusSeeOther)
}

// token trades a code for an ID token, once (RFC 6749, 4.1.3 and 5.2; RFC 7636, 4.6).
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	if id != i.ClientID || secret != i.ClientSecret {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	asked, known := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	proof := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !known || r.FormValue("grant_type") != "authorization_code" || r.FormValue("redirect_uri") != i.Callback || asked.Get("code_challenge") != Base64(proof[:]) {
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{"sub": asked.Get("person"), "aud": i.ClientID, "nonce": asked.Get("nonce"), "groups": nil}
	maps.Copy(claims, i.People[asked.Get("person")])
	for kid, key := range i.keys {
		answer(w, http.StatusOK, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 300, "id_token": i.sign(kid, key, claims)})
		return
	}
}
