package config

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSecretNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"api_key": true, "API_KEY": true, "apiKey": true, "X-API-Key": true, "GITHUB_TOKEN": true, "dbPassword": true, "PGPASSWORD": true,
		"Authorization": true, "client-secret": true, "session.cookie": true, "NPM_AUTH": true, "PASS": true,
		"max_tokens": false, "keyboard": false, "monkey": false, "author": false, "temperature": false, "HOME": false, "": false, "stop": false, "passage": false,
	} {
		if secretName(name) != want {
			t.Errorf("secretName(%q) = %v", name, !want)
		}
	}
}

// TestNoPasswordOfAConnectionIsShown writes passwords of every sort into connection strings of both forms, as their
// rules of quoting demand.
func TestNoPasswordOfAConnectionIsShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		password := "hush" + rapid.StringMatching(`[ -~äß]{0,12}`).Draw(t, "rest") + "hush"
		quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password)
		escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`, " ", `\ `).Replace(password)
		name := rapid.SampledFrom([]string{"password", "sslpassword", "passfile", "options"}).Draw(t, "name")
		blank := rapid.SampledFrom([]string{"", " "}).Draw(t, "blank")
		for _, dsn := range []string{
			fmt.Sprintf("host=db %s%s=%s'%s' dbname=x", name, blank, blank, quoted),
			fmt.Sprintf("host=db dbname=x %s=%s", name, escaped),
			"postgres://" + url.UserPassword("bob", password).String() + "@db:5432/x?sslmode=require",
			"postgres://db/x?user=bob&" + name + "=" + url.QueryEscape(password),
			"postgres://db/x?" + name + "=" + password, // as people write it
			"host=db " + name + "=" + password,
		} {
			if shown := maskConnection(dsn); strings.Contains(shown, "hush") {
				t.Fatalf("%s is shown as %s", dsn, shown)
			}
		}
	})
}

func TestNoSecretOfATextIsShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := "hush" + rapid.StringMatching(`[A-Za-z0-9+/=_.~-]{0,12}`).Draw(t, "rest") + "hush"
		name := rapid.SampledFrom([]string{"API_TOKEN", "password", "client_secret", "apiKey"}).Draw(t, "name")
		for _, text := range []string{
			name + "=" + secret, "run with " + name + "=" + secret + " please", "http://bob:" + secret + "@proxy.example:3128",
			"see https://" + secret + "@example.com/x and y", "https://example.com/?a=b&" + name + "=" + secret + "&c=d",
			"Authorization: Bearer " + secret, name + " = \"" + secret + " and more\"",
		} {
			if shown := maskText(text); strings.Contains(shown, "hush") {
				t.Fatalf("%s is shown as %s", text, shown)
			}
		}
	})
}
