package redact_test

import (
	"strings"
	"testing"

	"holdpoint/internal/redact"
)

// hostile are texts of which each part may begin a secret.
var hostile = []string{"create password ", "set password 'a ", "identified by ", "config set password ", "machine a login a password ", "kind: Secret\ndata:\n  a: b\n", "kind: Secret\n data:\n", "echo a | sudo -S", "echo a|", "chpasswd", "<a name=\"password\">", "set(\"password\",",
	"password\u200b=", "openssl -k a ", "htpasswd -b a b ", "://aaaaaaaaaaaaaaaaaaaa1", "a:b@tcp(", "environ[\"password\"]=",
	"-----BEGIN PRIVATE KEY----- ", "password=", "password= ", "password: ", "--password ", "eyJaaaaaaaa.", "sk-", "xoxb-", "ghp_", "akia", "basic ", "bearer ", "http://a:b", "http://", "a://a", "-u a: ", "-u a",
	"name: password value: ", "name: password ", "value=\"a ", "val", "val:", "value: a ", "<name>secret</name><value>", "<value>", "pass=a ", "auth= ", "--name a --value ", "password is ", "the token is ", "key", "api key is ", "password for a ",
	"mysql ", "mysql -p", "docker login ", "redis-cli ", "redis-cli a -a", "token", "token: ", "a_", "aaaaaaaa", "a-", "_pass=", "-pass ", "cookie:", "authorization: ", "key-", "'", "\"", "\\", "\n", " ", "=", "passwordpassword", "password-", "pwd", "secret_", "name=a&", "password: |\n ", "password: # ", "# ", "form-data; name=password\n", "form-data; name=password\n\n", "password: |\n", "\n password: |", "password: /* ", "value: /* */ ", "#", "//", "name: a # b\n", "name=a&value=b&", "pass: a\n", "pass: ", "{pass: ", "ParameterKey=a,ParameterValue=", "value=a,ParameterKey=", "mysqlmysql -p", " -p", " -a a", "login -p", "api_key: #\n"}

func BenchmarkHostile(b *testing.B) {
	r := redact.New()
	for _, bait := range hostile {
		text := strings.Repeat(bait, redact.MaxText/len(bait))
		b.Run(bait, func(b *testing.B) {
			for b.Loop() {
				_, _ = r.Text(text)
			}
		})
	}
	text := strings.Repeat(strings.Join(hostile, ""), 1+redact.MaxText/len(strings.Join(hostile, "")))[:redact.MaxText]
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			_, _ = r.Text(text)
		}
	})
}
