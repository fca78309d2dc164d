package redact_test

import (
	"strings"
	"testing"

	"holdpoint/internal/redact"
)

// ways has hunter22 as programs, people and files of settings write a password.
var ways = []string{
	// Texts within texts within texts.
	`{\"b\":\"{\\\"password\\\":\\\"hunter22\\\"}\"}`, `"{\\\"c\\\":\\\"{\\\\\\\"api_key\\\\\\\":\\\\\\\"hunter22\\\\\\\"}\\\"}"`,
	// In code.
	`os.environ["DB_PASSWORD"] = "hunter22"`, `os.environ['API_KEY']='hunter22'`, `$config['password'] = 'hunter22';`, `define('DB_PASSWORD', 'hunter22');`, `define( "DB_PASSWORD", "hunter22" );`,
	`os.Setenv("DB_PASSWORD", "hunter22")`, `req.Header.Set("X-Api-Key", "hunter22")`, `headers.set('Authorization', 'hunter22')`, `{\"x\": \"setenv(\\\"GITHUB_TOKEN\\\", \\\"hunter22\\\")\"}`, "PASSWORD=$'hunter22'",
	// In addresses and files of settings.
	"ann:hunter22@tcp(127.0.0.1:3306)/db", `MYSQL_DSN="ann:hunter22@unix(/s)/db"`, "https://hunter22hunter22hunter22@github.com/a.git", "https://hunter22hunter22hunter22:x-oauth-basic@github.com/a", "machine h login ann password hunter22", "machine h\n  login ann\n  password hunter22", "default login a password hunter22",
	`<property name="a.jdbc.password">hunter22</property>`, `<Password xsi:type="string">hunter22</Password>`, `<x:password a="b">hunter22</x:password>`,
	// In SQL.
	"CREATE USER a IDENTIFIED BY 'hunter22';", "alter user a identified with x by 'hunter22'", "CREATE USER a WITH PASSWORD 'hunter22';", "ALTER ROLE a WITH ENCRYPTED PASSWORD 'hunter22';", "SET PASSWORD FOR a = PASSWORD('hunter22');",
	// In command lines.
	"echo hunter22 | sudo -S ls", "printf '%s\\n' hunter22 | sudo -kS ls", "echo 'hunter22' | docker login -u a --password-stdin", "echo 'ann:hunter22' | chpasswd", "chpasswd <<< 'ann:hunter22'", "htpasswd -b f ann hunter22", "htpasswd -bc f ann hunter22", "htpasswd -cb f ann hunter22",
	"mongosh -u a -p hunter22 h", "ldapsearch -D cn=a -w hunter22", "sqlcmd -U sa -P hunter22", "zip -P hunter22 a b", "unzip -P hunter22 a", "7z x -phunter22 a", "openssl enc -k hunter22 -in a", "keytool -storepass hunter22 -keypass hunter22", "smbclient //h/s -U ann%hunter22",
	"aws configure set aws_secret_access_key hunter22", "npm config set //r/:_authToken hunter22", "kubectl create secret generic s --from-literal=key1=hunter22", "kubectl create secret generic s --from-literal 'a=hunter22'",
	// In Secrets of Kubernetes, whose names are anything.
	"apiVersion: v1\nkind: Secret\ndata:\n  anything: hunter22\n  more: 'hunter22'", "kind: Secret\nstringData:\n  a: |\n    hunter22\ntype: Opaque", "\nstringData:\n    a.yaml: \"hunter22\"\nkind: Secret", "{\"kind\": \"Secret\", \"data\": {\"a\":\"hunter22\"}}", `{\"data\":{\"a\":\"hunter22\"},\"kind\":\"Secret\"}`,
	"cat <<E | kubectl apply -f -\nkind: Secret\nstringData:\n  a: hunter22\nE\n",
	// By characters that look the same, or like nothing.
	"ｐａｓｓｗｏｒｄ=hunter22", "password＝hunter22", "password：hunter22", "pass\u00adword=hunter22", "pass\u200bword: hunter22", "\ufeffPASS\u2060WORD=hunter22", `{"pass` + "\u200d" + `word":"hunter22"}`,
	// In words.
	"Password for ann: hunter22", "pin code: hunter22", "PIN code = hunter22",
}

func TestWaysToWriteAPassword(t *testing.T) {
	t.Parallel()
	r := redact.New("pin code")
	for _, text := range ways {
		if got, hidden := r.Text("before " + text); !hidden || strings.Contains(got, "hunter") || !strings.HasPrefix(got, "before ") {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	token := "g\u200bhp_" + x(36)
	if got, _ := r.Text(token); strings.Contains(got, x(36)) {
		t.Errorf("%q is shown as %q", token, got)
	}
	for raw, want := range map[string]string{
		`{"apiVersion":"v1","data":{"a":"hunter22"},"kind":"Secret"}`:                    `{"apiVersion":"v1","data":"[redacted]","kind":"Secret"}`,
		`{"items":[{"kind":"Secret","stringData":{"a":1}},{"kind":"X","data":{"a":1}}]}`: `{"items":[{"kind":"Secret","stringData":"[redacted]"},{"kind":"X","data":{"a":1}}]}`,
	} {
		if got, hidden := r.JSON([]byte(raw)); !hidden || string(got) != want {
			t.Errorf("%s is shown as %s", raw, got)
		}
	}
}

func TestWhatOnlyLooksLikeSuchAWayStays(t *testing.T) {
	t.Parallel()
	r := redact.New("pin code")
	for _, text := range []string{
		`required: ["password", "username"]`, `os.environ["HOME"] = "/root/x"`, `setenv("HOME", "/root")`, `pick("password", "username")`, `log.Set("level", "debug")`, "the default login page has a password reset", "a machine login without a password",
		"https://ann@h/x", "ssh://git@github.com/a", "https://a-long-name-of-nobody@h/x", "mail ann@tcp", "CREATE TABLE a (password text)", "set the password to 'required'", "identified by name 'x'", "echo hello | sudo tee f", "echo hello | sort -S 1M", "sudo ls -s",
		"zip -r a b", "mongosh -p", "openssl dgst -sha256 a", "git config set user.name ann", "aws configure set region eu-west-1", "kind: ConfigMap\ndata:\n  a: hello", "kind: Secret\nmetadata:\n  name: hello", `{"kind":"SecretStore","data":{"a":"b"}}`, "kind of secret data",
		`<property name="user">ann</property>`, `<input name="username">`, "全角の文字：ＡＢＣ", "a\u200bb", "pin codes are asked for", "--from-literal", "Password for ann: see the vault",
	} {
		if got, hidden := r.Text(text); hidden || got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}
