package config

import (
	"encoding/hex"
	"holdpoint/interaction"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// roles are those that a principal may have.
var roles = []string{"user", "reviewer", "admin", "act_for"}

// loopbackNames are hosts that no other machine is.
var loopbackNames = []string{"localhost", "127.0.0.1", "::1"}

const (
	maxTokens    = 500
	maxClockSkew = time.Hour
	maxPerMinute = 1_000_000
)

// Auth says who may talk to the bridge.
type Auth struct {
	Name   string
	Tokens []AuthToken
	OIDC   *OIDC // nil where there is none
	Pos    Pos
}

// AuthToken is a bearer token by its hash, and whose it is.
type AuthToken struct {
	ID            string
	Roles, Groups []string
	SHA256        string // 64 hexadecimal digits, lower case
	Pos           Pos
}

// OIDC is an OpenID Connect issuer whose JWTs are taken.
type OIDC struct {
	Issuer, Audience     string
	IDClaim, GroupsClaim string
	Roles                []GroupRoles
	DefaultRoles         []string
	ClockSkew            time.Duration
	SignIn               *SignIn // nil where nobody signs in at the issuer with a browser
}

// SignIn is how the issuer knows the inbox in the browser.
type SignIn struct {
	ClientID     string // "" is the audience
	ClientSecret Secret
	Address      string // of the bridge as browsers reach it, without a path
	Label        string // "" is the component's name
	Scopes       []string
	Lasts        time.Duration
}

// GroupRoles are the roles of a group's members.
type GroupRoles struct {
	Group string
	Roles []string
}

// Bridge says how the bridge is reached. Zero fields leave its defaults.
type Bridge struct {
	Name              string
	TLSCert, TLSKey   string // absolute paths
	BehindProxy       bool
	CORSOrigins       []string
	RequestsPerMinute int
	FailuresPerMinute int
	SigningKey        string // absolute path, "" to sign nothing
	UnsignedAnswers   string // up to which risk they count, "" for none
	Pos               Pos
}

var authKeys = component("Who may talk to the bridge, beside the tokens that `holdpoint token` makes (docs/identities.md).", object{keys: []key{
	{name: "tokens", shape: shapeObjects, items: &authTokenKeys, most: maxTokens, defDoc: "none", doc: "Bearer tokens, each by its hash."},
	{name: "oidc", shape: shapeObject, items: &oidcKeys, defDoc: "none", doc: "An OpenID Connect issuer whose JWTs are taken as bearer tokens."},
}})

var authTokenKeys = object{keys: []key{
	{name: "id", shape: shapeText, required: true, doc: "Whose it is."},
	{name: "roles", shape: shapeTexts, choices: roles, required: true, most: len(roles), doc: "What they may do: `user`, `reviewer`, `admin`, `act_for`."},
	{name: "groups", shape: shapeTexts, most: maxListed, defDoc: "none", doc: "Their groups."},
	{name: "sha256", shape: shapeText, required: true, doc: "The token's SHA-256, 64 hexadecimal digits: `holdpoint token hash` prints it."},
}}

var oidcKeys = object{keys: []key{
	{name: "issuer", shape: shapeURL, required: true, doc: "The issuer's URL, as its tokens name it. `https`, but on loopback."},
	{name: "audience", shape: shapeText, required: true, doc: "What must be among a token's audiences."},
	{name: "id_claim", shape: shapeText, def: "sub", doc: "The claim with the principal's id. It must be one that people can't choose for themselves."},
	{name: "groups_claim", shape: shapeText, def: "groups", doc: "The claim with the principal's groups, a list of texts."},
	{name: "roles", shape: shapeObjects, items: &groupRoleKeys, most: maxListed, defDoc: "none", doc: "The roles that groups have."},
	{name: "default_roles", shape: shapeTexts, choices: roles, most: len(roles), defDoc: "none", doc: "The roles of everybody with a valid token."},
	{name: "clock_skew", shape: shapeDuration, limit: 24 * time.Hour, defDoc: "1m", doc: "How far the issuer's clock may be off, at most 1h."},
	{name: "sign_in", shape: shapeObject, items: &signInKeys, defDoc: "by token only", doc: "Lets people sign in to the inbox in the browser at the issuer."},
}}

var signInKeys = object{keys: []key{
	{name: "address", shape: shapeURL, required: true, doc: "The bridge's address as browsers reach it, such as `https://holdpoint.example.com`. `https`, but on loopback. The issuer has to know this and `/sign-in/callback` as the address to come back to."},
	{name: "client_id", shape: shapeText, defDoc: "the audience", doc: "The inbox's id at the issuer."},
	{name: "client_secret", shape: shapeSecret, defDoc: "none, PKCE alone", doc: "Its secret, best as `${NAME}`."},
	{name: "scopes", shape: shapeTexts, most: maxListed, defDoc: "none", doc: "What is asked for beside `openid`, where the issuer tells groups only so."},
	{name: "label", shape: shapeText, defDoc: "the component's name", doc: "What the button says after \"Sign in with\"."},
	{name: "lasts", shape: shapeDuration, limit: 30 * 24 * time.Hour, defDoc: "8h", doc: "How long somebody stays signed in, with the groups that they had then."},
}}

var groupRoleKeys = object{keys: []key{
	{name: "group", shape: shapeText, required: true, doc: "The group."},
	{name: "roles", shape: shapeTexts, choices: roles, required: true, most: len(roles), doc: "The roles of its members."},
}}

var bridgeKeys = component("How the bridge is reached. There is one at most; flags go before it.", object{keys: []key{
	{name: "tls_cert", shape: shapeFile, beside: "tls_key", defDoc: "no TLS", doc: "The file with the certificate chain, PEM."},
	{name: "tls_key", shape: shapeFile, beside: "tls_cert", defDoc: "no TLS", doc: "The file with the certificate's key, PEM."},
	{name: "behind_proxy", shape: shapeFlag, def: false, doc: "Whether a proxy ends TLS before it, and what it says of the client in `X-Forwarded-For` counts."},
	{name: "cors_origins", shape: shapeTexts, most: maxListed, defDoc: "none", doc: "Origins of other sites whose pages may call it, such as `https://desk.example.com`."},
	{name: "signing_key", shape: shapeFile, defDoc: "answers are not signed", doc: "The file by which the bridge signs the answers that it forwards, as `holdpoint keys create` makes it."},
	{name: "unsigned_answers", shape: shapeChoice, choices: append([]string{"none"}, interaction.Risks...), beside: "signing_key", def: "none", doc: "Up to which risk of a question an answer counts that no bridge has signed, such as one of Temporal's own tools."},
	{name: "requests_per_minute", shape: shapeInteger, low: 1, high: maxPerMinute, def: 6000, doc: "How many requests one principal may make."},
	{name: "failures_per_minute", shape: shapeInteger, low: 1, high: maxPerMinute, def: 60, doc: "How many requests with wrong credentials, or without, one address may make; more are not looked at."},
}})

func readAuth(s *section, name string) {
	a := Auth{Name: name, Pos: s.pos(), Tokens: s.authTokens()}
	if n, ok := s.take("oidc"); ok {
		if o := s.l.section(s.file, s.prefix+"oidc.", n, &oidcKeys); o != nil {
			a.OIDC = o.oidc()
		}
	}
	if !s.has("tokens") && !s.has("oidc") {
		s.reportKey("tokens", "is missing: give tokens, oidc or both")
	}
	s.l.config.Auths = append(s.l.config.Auths, a)
}

// each opens the mappings of a list.
func (s *section) each(name, example string, o *object) []*section {
	n, ok := s.take(name)
	if !ok {
		return nil
	}
	if most := s.spec(name).most; n.Kind != yaml.SequenceNode || len(n.Content) == 0 || len(n.Content) > most {
		s.report(name, n.Line, "must be a list of 1 to %d mappings, such as %q", most, example)
		return nil
	}
	var out []*section
	for i, item := range n.Content {
		if one := s.l.section(s.file, s.prefix+name+"["+strconv.Itoa(i)+"].", item, o); one != nil {
			one.require()
			out = append(out, one)
		}
	}
	return out
}

func (s *section) authTokens() []AuthToken {
	var out []AuthToken
	for _, one := range s.each("tokens", "- {id: alice, roles: [reviewer], sha256: …}", &authTokenKeys) {
		t := AuthToken{ID: one.text("id"), Roles: one.chosen("roles"), Groups: texts(one.list("groups")), SHA256: strings.ToLower(one.text("sha256")), Pos: one.pos()}
		for _, key := range []string{"id"} {
			if v, ok := one.scalar(key, "an id"); ok {
				one.principal(key, v)
			}
		}
		if b, err := hex.DecodeString(t.SHA256); t.SHA256 != "" && (err != nil || len(b) != 32) {
			one.reportKey("sha256", "must be 64 hexadecimal digits, the SHA-256 of the token and not the token itself: `holdpoint token hash` prints it")
		}
		if slices.ContainsFunc(out, func(o AuthToken) bool { return o.SHA256 == t.SHA256 && t.SHA256 != "" }) {
			one.reportKey("sha256", "is here twice: a token means one principal only")
		}
		one.finish()
		out = append(out, t)
	}
	return out
}

// chosen is a list of the table's choices.
func (s *section) chosen(name string) []string {
	items := s.list(name)
	for _, v := range items {
		if choices := s.spec(name).choices; !slices.Contains(choices, v.text) {
			s.report(name, v.line, "%q is none of %s%s", v.raw, joinNames(choices), onlyNear(v.raw, choices))
		}
	}
	if s.has(name) && len(items) == 0 {
		s.reportKey(name, "names none of %s", joinNames(s.spec(name).choices))
	}
	return texts(items)
}

func (s *section) oidc() *OIDC {
	s.require()
	o := &OIDC{Issuer: s.endpoint("issuer"), Audience: s.text("audience"), IDClaim: s.text("id_claim"), GroupsClaim: s.text("groups_claim"),
		ClockSkew: s.duration("clock_skew")}
	if s.has("default_roles") {
		o.DefaultRoles = s.chosen("default_roles")
	}
	if o.ClockSkew > maxClockSkew {
		s.reportKey("clock_skew", "is more than 1h")
	}
	if u, err := url.Parse(o.Issuer); err == nil && u.Scheme == "http" && !slices.Contains(loopbackNames, u.Hostname()) {
		s.reportKey("issuer", "must be https: whoever can change what it answers can be anybody")
	}
	if n, ok := s.take("sign_in"); ok {
		if in := s.l.section(s.file, s.prefix+"sign_in.", n, &signInKeys); in != nil {
			o.SignIn = in.signIn()
		}
	}
	for _, one := range s.each("roles", "- {group: ops, roles: [reviewer]}", &groupRoleKeys) {
		o.Roles = append(o.Roles, GroupRoles{Group: one.text("group"), Roles: one.chosen("roles")})
		one.finish()
	}
	s.finish()
	return o
}

func (s *section) signIn() *SignIn {
	s.require()
	in := &SignIn{ClientID: s.text("client_id"), ClientSecret: NewSecret(s.text("client_secret")), Address: s.endpoint("address"), Label: s.text("label"),
		Scopes: texts(s.list("scopes")), Lasts: s.duration("lasts")}
	if in.Lasts == 0 {
		in.Lasts = 8 * time.Hour
	}
	if u, err := url.Parse(in.Address); err == nil && u.Host != "" {
		switch {
		case strings.Trim(u.Path, "/") != "":
			s.reportKey("address", "must have no path: the inbox is at the root of its address")
		case u.Scheme == "http" && !slices.Contains(loopbackNames, u.Hostname()):
			s.reportKey("address", "must be https: who reads the issuer's answer on its way can sign in with it")
		}
		in.Address = strings.TrimRight(in.Address, "/")
	}
	s.finish()
	return in
}

func readBridge(s *section, name string) {
	b := Bridge{Name: name, Pos: s.pos(), TLSCert: s.existingFile("tls_cert"), TLSKey: s.existingFile("tls_key"), BehindProxy: s.flag("behind_proxy"),
		RequestsPerMinute: s.integer("requests_per_minute"), FailuresPerMinute: s.integer("failures_per_minute"), SigningKey: s.existingFile("signing_key"), UnsignedAnswers: s.choice("unsigned_answers")}
	for _, v := range s.list("cors_origins") {
		u, err := url.Parse(v.text)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Scheme+"://"+u.Host != v.text {
			s.report("cors_origins", v.line, "%q is no origin: write scheme and host, such as https://desk.example.com", v.raw)
		}
		b.CORSOrigins = append(b.CORSOrigins, v.text)
	}
	if b.UnsignedAnswers == "none" {
		b.UnsignedAnswers = ""
	}
	if len(s.l.config.Bridges) > 0 {
		s.reportKey("type", "there is a bridge already, at %s: keep one", s.l.config.Bridges[0].Pos)
	}
	s.l.config.Bridges = append(s.l.config.Bridges, b)
}
