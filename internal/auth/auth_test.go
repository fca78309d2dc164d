package auth_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/auth"
)

const tokenA, tokenB = "token-of-ada-0123456789", "token-of-bob-0123456789"

func ada() interaction.Principal {
	return interaction.Principal{ID: "ada", Groups: []string{"ops"}, Roles: []string{"admin"}}
}

func bob() interaction.Principal {
	return interaction.Principal{ID: "bob", Roles: []string{"user", "reviewer"}}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	tokens, err := auth.New([]auth.Token{{Token: tokenA, Principal: ada()}, {Token: auth.Hash(tokenB), Principal: bob()}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		headers []string
		who     interaction.PrincipalID
	}{
		"a token in clear":                  {[]string{"Bearer " + tokenA}, "ada"},
		"a token configured as its hash":    {[]string{"bearer " + tokenB}, "bob"},
		"nothing":                           {nil, ""},
		"an empty token":                    {[]string{"Bearer "}, ""},
		"no scheme":                         {[]string{tokenA}, ""},
		"another scheme":                    {[]string{"Basic " + tokenA}, ""},
		"an unknown token":                  {[]string{"Bearer " + tokenA + "x"}, ""},
		"a prefix of a token":               {[]string{"Bearer " + tokenA[:20]}, ""},
		"the hash in place of its token":    {[]string{"Bearer " + auth.Hash(tokenB)}, ""},
		"two headers":                       {[]string{"Bearer " + tokenA, "Bearer " + tokenA}, ""},
		"a token of several kilobytes more": {[]string{"Bearer " + strings.Repeat("x", 1<<16)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header["Authorization"] = c.headers
			p, ok, err := tokens.Authenticate(r)
			if err != nil || ok != (c.who != "") || p.ID != c.who {
				t.Errorf("got %q, %v, %v; want %q", p.ID, ok, err, c.who)
			}
		})
	}
}

func TestNewNamesWhatIsWrongWithoutTheToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tokens []auth.Token
		want   string
	}{
		"none":           {nil, "no token is configured"},
		"short":          {[]auth.Token{{Token: "short-token", Principal: bob()}}, "use at least 16"},
		"blank":          {[]auth.Token{{Token: "with a blank in the middle", Principal: bob()}}, "printable ASCII"},
		"bad hash":       {[]auth.Token{{Token: "sha256:abc", Principal: bob()}}, "64 hexadecimal digits"},
		"no id":          {[]auth.Token{{Token: tokenA, Principal: interaction.Principal{Roles: []string{"user"}}}}, "no principal id"},
		"no role":        {[]auth.Token{{Token: tokenA, Principal: interaction.Principal{ID: "x"}}}, "has no role"},
		"unknown role":   {[]auth.Token{{Token: tokenA, Principal: interaction.Principal{ID: "x", Roles: []string{"root"}}}}, `"root" is no role`},
		"the same twice": {[]auth.Token{{Token: tokenA, Principal: ada()}, {Token: auth.Hash(tokenA), Principal: bob()}}, "configured twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := auth.New(c.tokens)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want it to say %q", err, c.want)
			}
			for _, tok := range c.tokens {
				if strings.Contains(err.Error(), tok.Token) {
					t.Errorf("the error shows the token: %v", err)
				}
			}
		})
	}
}

func TestCheckListen(t *testing.T) {
	t.Parallel()
	for addr, open := range map[string]bool{
		"127.0.0.1:0": true, "127.9.8.7:80": true, "[::1]:8080": true, "localhost:8080": true, "[::ffff:127.0.0.1]:1": true,
		"0.0.0.0:80": false, ":8080": false, "[::]:80": false, "10.0.0.1:80": false, "example.com:80": false,
		"localhost.example.com:80": false,
	} {
		if err := auth.CheckListen(addr, false); (err == nil) != open {
			t.Errorf("%s without authentication: %v", addr, err)
		}
		if err := auth.CheckListen(addr, true); err != nil {
			t.Errorf("%s with authentication: %v", addr, err)
		}
	}
	if err := auth.CheckListen("nonsense", true); err == nil {
		t.Error("an address without a port is accepted")
	}
}

func TestLocalIsOnePersonAndNeverNobody(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if p, ok, err := (auth.Local{Principal: ada()}).Authenticate(r); !ok || err != nil || p.ID != "ada" {
		t.Errorf("got %v, %v, %v", p, ok, err)
	}
	if _, ok, _ := (auth.Local{}).Authenticate(r); ok {
		t.Error("a principal without an id is let in")
	}
}

func TestPrincipalsOfRequestsShareNothing(t *testing.T) {
	t.Parallel()
	tokens, err := auth.New([]auth.Token{{Token: tokenA, Principal: ada()}})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+tokenA)
	first, _, _ := tokens.Authenticate(r)
	first.Roles[0] = "changed"
	if second, _, _ := tokens.Authenticate(r); second.Roles[0] != "admin" {
		t.Error("one request changed the principal of the next")
	}
}

func TestNewTokenIsLongAndNew(t *testing.T) {
	t.Parallel()
	a, b := auth.NewToken(), auth.NewToken()
	if a == b || len(a) < 40 {
		t.Errorf("%q, %q", a, b)
	}
	if _, err := auth.New([]auth.Token{{Token: a, Principal: ada()}}); err != nil {
		t.Error(err)
	}
}
