package redact_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"holdpoint/internal/redact"
)

// x is filling for tokens that look like a service's and are nobody's.
func x(n int) string { return strings.Repeat("aB3", n/3+1)[:n] }

// secrets are texts of which the second part must not be seen.
var secrets = [][2]string{
	{"aws ", "AKIA" + strings.Repeat("Q", 16)}, {"github ", "ghp_" + x(36)}, {"fine ", "github_pat_" + x(30)}, {"gitlab ", "glpat-" + x(20)},
	{"slack ", "xoxb-" + x(24)}, {"post to https://hooks.slack.com/services/", "T00000000/B00000000/" + x(24)}, {"stripe ", "sk_live_" + x(24)},
	{"webhook ", "whsec_" + x(32)}, {"model ", "sk-ant-" + x(40)}, {"google ", "AIza" + x(35)}, {"oauth ", "ya29." + x(40)}, {"npm ", "npm_" + x(36)},
	{"hf ", "hf_" + x(34)}, {"sendgrid ", "SG." + x(22) + "." + x(43)}, {"vault ", "hvs." + x(24)}, {"telegram ", "12345678:AA" + x(33)},
	{"azure DefaultEndpointsProtocol=https;AccountKey=", x(40) + "=="}, {"jwt ", "eyJ" + x(20) + ".eyJ" + x(30) + "." + x(20)},
	{"Authorization: Bearer ", x(20)}, {"curl -H 'authorization: basic ", x(16) + "="}, {"postgres://ann:", "hunter2"}, {"redis://:", "hunter2"},
	{"curl -u ann:", "hunter22"}, {"PASSWORD=", "hunter22"}, {`"api_key": "`, "hunter22"}, {"mysql --password ", "hunter22"}, {"client-secret=", "hunter22"},
	{"pin_code=", "12345"}, {`"password": "`, "correct horse battery"}, {`password='`, "two words"}, {`{\"password\":\"`, "hunter22"}, {"https://h/?token=", "abcdefgh12"},
	{"run --page-token-password ", "hunter22"}, {"page_token_token=", "abcdefgh12"}, {"vault login --token ", "abcdefgh12"}, {"VAULT_TOKEN=", "0123456789abcdef"}, {`{"github_token": "`, "0123456789abcdef"}, {"PASSWORD='", "$ecret123"}, {`password=\$`, "ecret123"}, {"x_", "ghp_" + x(36)},
	{"Authorization: token ", x(20)}, {"authorization: ApiKey ", x(20)}, {"-H 'Cookie: sid=1; session=", x(20)}, {"password := \"", "hunter22"}, {"password => ", "hunter22"}, {"<password>", "hunter22</password"}, {"password%3D", "hunter22"}, {"password2=", "hunter22"},
	{"docker ", "dckr_pat_" + x(27)}, {"groq ", "gsk_" + x(40)}, {"tailscale ", "tskey-auth-" + x(20)}, {"databricks ", "dapi" + strings.Repeat("ab12", 8)}, {"refresh ", "1//0" + x(40)}, {"https://discord.com/api/webhooks/", "123456789012345678/" + x(60)},
	{"https://h/?X-Amz-Signature=", strings.Repeat("ab12", 16)}, {"//registry.example/:_auth=", x(16)}, {"sshpass -p ", "hunter22"}, {"mysql -u root -p", "hunter22"}, {"docker login -u ann -p ", "hunter22"}, {"redis-cli -h h -a ", "hunter22"}, {"SIGNING_KEY=", "0123456789abcdef"}, {"v1_", "AKIA" + strings.Repeat("Q", 16)}, {"-----BEGIN RSA PRIVATE KEY-----\n", "MIIEabc\ndef\n-----END RSA PRIVATE KEY-----"}, {"-----BEGIN OPENSSH PRIVATE KEY-----\n", "MIIEabc cut off"},
	// In a pair, its name beside it.
	{`{"name":"password","value":"`, "hunter22"}, {`{\"name\":\"password\",\"value\":\"`, "hunter22"}, {`{"key": "Authorization", "value": "`, "abcdefgh"}, {"- name: DB_PASSWORD\n  value: ", "hunter22"},
	{"env:\n  - name: GITHUB_TOKEN\n    value: \"", "hunter22"}, {"{Key: \"X-Api-Key\", Value: \"", "hunter22"}, {"name=api_key, value=", "hunter22"}, {"<name>fs.s3a.secret.key</name>\n<value>", "hunter22"},
	{`<input name="password" value="`, "hunter22"}, {`- name: PIN_CODE\n  value: `, "12345"}, {`{"header":"set-cookie","val":"`, "sid=1"},
	{"aws ssm put-parameter --name /prod/db_password --type SecureString --value ", "hunter22"}, {"x --key=api_key --value='", "hunter22"},
	// In prose.
	{"the password is ", "hunter2"}, {"The password for the database is: ", "hunter2."}, {"my password was \"", "correct horse battery\""}, {"set the password to '", "letmein'"}, {"the api key is ", "zX81abcd"}, {"ann's passphrase is `", "open sesame`"},
	{"The access token is ", "zX81-abcd"}, {"the pin code is ", "zX81abcd"}, {"password: ", "hunter2"},
	// Behind names that are secret by their value alone.
	{"https://h/?user=ann&pass=", "letmein"}, {"https://h/?auth=", "zX81abcd"}, {"https://h/?pwd=", "letmein"}, {"connect pass=", "letmein"}, {"--pass=", "letmein"}, {"curl --pass ", "hunter22"}, {"SMTP_PASS=", "letmein"}, {"MQTT_AUTH='", "zX81abcd"},
	{"openssl rsa -passin pass:", "letmein"}, {"cb?pass%3D", "letmein"}, {"(pw=", "hunter22"},
}

func TestKnownSecretsAreHidden(t *testing.T) {
	t.Parallel()
	r := redact.New("PIN code")
	for _, s := range secrets {
		text := s[0] + s[1]
		if strings.Contains(s[0], "://") && !strings.Contains(s[0], "slack") {
			text += "@db.example/x"
		}
		got, hidden := r.Text("before " + text + " after")
		if !hidden || strings.Contains(got, s[1]) || !strings.HasPrefix(got, "before ") || !strings.Contains(got, redact.Mark) {
			t.Errorf("%q is shown as %q", text, got)
		}
		if w := strings.Fields(s[1]); strings.Contains(got, w[len(w)-1]) && !strings.Contains(s[1], "PRIVATE") {
			t.Errorf("of %q remains %q", text, got)
		}
		if again, more := r.Text(got); more && again != got {
			t.Errorf("%q changes again, to %q", got, again)
		}
		b, _ := json.Marshal(map[string]any{"command": text})
		if out, hidden := r.JSON(b); !hidden || strings.Contains(string(out), s[1]) || !json.Valid(out) {
			t.Errorf("in JSON %s is shown as %s", b, out)
		}
	}
}

func TestAValueBeforeItsNameIsHidden(t *testing.T) {
	t.Parallel()
	r := redact.New()
	for _, text := range []string{"- value: hunter22\n  name: DB_PASSWORD", "- value: \"hunter22\"\n  name: DB_PASSWORD\n", "{value: hunter22, name: api_key}", `{"value": "hunter22", "name": "password"}`} {
		if got, hidden := r.Text(text); !hidden || got != strings.ReplaceAll(text, "hunter22", redact.Mark) {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func TestWhatIsNoSecretStays(t *testing.T) {
	t.Parallel()
	r := redact.New()
	for _, text := range []string{"", "ls -la", "the password is asked for at the terminal", "PGPASSWORD=$DB_PASSWORD psql", `curl -H "X-Api-Key: ${KEY}"`, "https://example.com/a:b@c",
		"git push origin main", "max_tokens=400", "next_page_token=abcdefghijk", "runs --page-token abcdefghijk", "sk-learn", "5 basic rules", "tokenizer: fast", `curl -H "Authorization: Bearer $TOKEN" https://h`, "Authorization: Bearer <token>", "mysql -p -u root", "docker run -p 8080:80 x", "docker login -u ann --password-stdin", "mysqldump --port 3306 db", "ssh -p 2222 h",
		"if password == nil", "monkey-business", "https://h/?sig=1", "the cookie: a", "redis-cli -h h ping", "npm login", "mkdir -p a && mysql x", "r8_x", "sha256:0123456789abcdef0123456789abcdef", "AKIA is how they begin", "task-1-2", "see https://example.com:8080/x",
		"the password is required", "the password is not set", "password is 8-characters long", "the token is valid for 24hours", "the password is sha256-hashed", "the password is 'required'", "set the password to continue", "the secret is stored in db-1", "the password is [redacted]",
		"the next page token is zX81abcd", "the password is $PASSWORD", "the api key is <your-key1>", "the password was changed on 2026-03-01", "the token is at https://h/t1",
		"auth=none", "auth=basic", "?auth=oauth2", "auth=required", "?auth=scram-sha-256", "pass=true", "pass=1024 fail=0", "pass=****", "pass=$PASS", "bypass=letmein", "compass=north", "auth=disabled", "--pass through", "?pass=none&x=1", "pass=passed", "author=hunter22",
		"name=item value=hunter22", "- name: PATH\n  value: /usr/bin", "- name: DB_PASSWORD\n  valueFrom: secretKeyRef", "- name: page_token\n  value: abcdefgh", "- name: DB_PASSWORD\n  value: $(DB_PASSWORD)", "- name: FOO\n  value: \"bar\"\n- name: DB_PASSWORD",
		"name=FOO value=barbar\nname=DB_PASSWORD", "x --name region --value hunter22", "x --name db_password; y --value hunter22", "- value: hunter22\n- name: DB_PASSWORD",
		`{"name":"FOO","value":"bar"},{"name":"PASSWORD"}`, "the key is under the mat", "what is the value of a password?"} {
		if got, hidden := r.Text(text); hidden || got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	for _, raw := range []string{`{"name":"password","value":""}`, `{"name":"password","value":true}`, `{"name":"item","value":"hunter22"}`, `{"name":"next_page_token","value":"abc"}`, `{"pass":12,"fail":0}`,
		`{"pass":"mem2reg_or all"}`, `{"auth":"basic"}`, `{"pass":"instcombine"}`, `{"value":"x","name":"y"}`, `{"name":{"of":"password"},"value":"x"}`, `["password","hunter22"]`, `{"value":{"name":"a","value":"b"},"name":"c"}`} {
		if got, hidden := r.JSON([]byte(raw)); hidden || string(got) != raw {
			t.Errorf("%s is shown as %s", raw, got)
		}
	}
	raw := []byte("{ \"a\" : 1.0, \"b\":[true,null,\"<x>\"], \"secret\": false, \"password\": \"\" }")
	if got, hidden := r.JSON(raw); hidden || string(got) != string(raw) {
		t.Errorf("%s is shown as %s", raw, got)
	}
}

func TestFieldsOfSecretsAreHiddenAtAnyDepth(t *testing.T) {
	t.Parallel()
	r := redact.New("pin")
	for raw, want := range map[string]string{
		`{"password":"x"}`:                       `{"password":"[redacted]"}`,
		`{"a":[{"dbPassword":"x","n":1}]}`:       `{"a":[{"dbPassword":"[redacted]","n":1}]}`,
		`{"X-API-Key":12345}`:                    `{"X-API-Key":"[redacted]"}`,
		`{"credentials":{"user":"u","k":["v"]}}`: `{"credentials":{"user":"[redacted]","k":["[redacted]"]}}`,
		`{"token":"x","next_page_token":"y"}`:    `{"token":"[redacted]","next_page_token":"y"}`,
		`{"password":"first","password":""}`:     `{"password":"[redacted]","password":""}`,
		`{"PIN":"1"}`:                            `{"PIN":"[redacted]"}`,
		`{"body":"{\"password\":\"hunter22\"}"}`: `{"body":"{\"password\":\"[redacted]\"}"}`,
		`{"ghp_` + x(36) + `":1}`:                `{"[redacted]":1}`,
		`{"name":"password","value":"x"}`:        `{"name":"password","value":"[redacted]"}`,
		`{"value":"x","name":"password","n":1}`:  `{"value":"[redacted]","name":"password","n":1}`,
		`[{"key":"Authorization","enabled":true,"value":"Bearer x"},{"key":"Accept","value":"y"}]`: `[{"key":"Authorization","enabled":true,"value":"[redacted]"},{"key":"Accept","value":"y"}]`,
		`{"value":{"value":["x"],"name":"token"},"name":"DB_PASSWORD"}`:                            `{"value":"[redacted]","name":"DB_PASSWORD"}`,
		`{"value":"x","val":"y","value":"z","name":"secret"}`:                                      `{"value":"[redacted]","val":"[redacted]","value":"[redacted]","name":"secret"}`,
		`{"Name":"pin","Value":1234}`:                                                              `{"Name":"pin","Value":"[redacted]"}`,
		`{"a":{"val":"x","header":"Cookie"},"b":{"value":"x","name":"secret"}}`:                    `{"a":{"val":"[redacted]","header":"Cookie"},"b":{"value":"[redacted]","name":"secret"}}`,
		`{"pass":"hunter22"}`:         `{"pass":"[redacted]"}`,
		`{"auth":"zX81abcd","n":[1]}`: `{"auth":"[redacted]","n":[1]}`,
		`{"password":"x"`:             `"[redacted]"`,
		`{} {"password":"x"}`:         `"[redacted]"`,
	} {
		if got, hidden := r.JSON([]byte(raw)); !hidden || string(got) != want {
			t.Errorf("%s is shown as %s, want %s", raw, got, want)
		}
	}
}

func TestHostileTextIsBounded(t *testing.T) {
	t.Parallel()
	r := redact.New()
	bait := "-----BEGIN PRIVATE KEY password= eyJa.eyJ sk- xoxb- ghp_ akia basic bearer http://a:b -u a: name: password value: value=\"a name password is <name>secret</name><value> pass=a auth= val:val:val: --name a --value "
	text := strings.Repeat(bait, 8<<20/len(bait))
	began := time.Now()
	got, hidden := r.Text(text)
	if took := time.Since(began); took > time.Minute || !hidden || len(got) > 2*redact.MaxText {
		t.Errorf("%d bytes became %d in %s", len(text), len(got), took)
	}
	for _, bait := range hostile { // each takes a fraction of a second
		began := time.Now()
		if _, _ = r.Text(strings.Repeat(bait, redact.MaxText/len(bait))); time.Since(began) > 20*time.Second {
			t.Errorf("%q takes %s", bait, time.Since(began))
		}
	}
	if got, _ := r.Text(strings.Repeat("é", redact.MaxText)); !utf8.ValidString(got) {
		t.Error("a character was cut in two")
	}
	deep := strings.Repeat(`{"password":[`, 20_000)
	if got, hidden := r.JSON([]byte(deep)); !hidden || len(got) > 100 {
		t.Errorf("nested: %d bytes", len(got))
	}
}

func TestNoRulesHideNothing(t *testing.T) {
	t.Parallel()
	var r *redact.Rules
	if got, hidden := r.Text("password=hunter22"); hidden || got != "password=hunter22" {
		t.Errorf("shown as %q", got)
	}
}

func FuzzRedact(f *testing.F) {
	for n, s := range secrets {
		f.Add(s[0], " after", uint8(n))
	}
	f.Add("{\"password\":\"", "\"}", uint8(1))
	f.Add("{\"value\":\"", "\",\"name\":\"password\"}", uint8(2))
	f.Add("- name: TOKEN\n  value: ", "\n- name: password\n  value: |", uint8(4))
	f.Add("<name>secret</name><value>", "</value> the password is '", uint8(5))
	f.Add("https://h/?auth=", "&pass=x&pw=\"", uint8(6))
	f.Add("\xff\x00[redacted]", "@", uint8(3))
	f.Add("- password: |\n  ", "\n key: # x\n  /* y */ z", uint8(7))
	f.Add("form-data; name=secret\n\n", "\nmysql -p", uint8(8))
	f.Add("ParameterKey=token&ParameterValue=", "#\n pass: x1", uint8(9))
	r := redact.New("pin_code")
	f.Fuzz(func(t *testing.T, before, after string, n uint8) {
		if len(before)+len(after) > 8<<10 {
			return // long texts take long, and find nothing that short ones do not
		}
		planted := secrets[int(n)%16][1] // those whose form is in themselves
		for _, text := range []string{before, before + " " + planted + " " + after} {
			got, _ := r.Text(text)
			if utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Fatalf("%q became %q, which is no text", text, got)
			}
			if strings.Contains(text, planted+" ") && len(text) < redact.MaxText && strings.Contains(text, " "+planted) && strings.Contains(got, planted) && !strings.HasPrefix(planted, "T0") {
				t.Fatalf("%q is shown as %q", text, got)
			}
			b, err := json.Marshal(map[string]string{text: text})
			if err != nil {
				continue
			}
			if out, _ := r.JSON(b); !json.Valid(out) {
				t.Fatalf("%s became %s, which is no JSON", b, out)
			}
		}
		_, _ = r.JSON([]byte(before))
	})
}
