package redact_test

import (
	"strings"
	"testing"

	"holdpoint/internal/redact"
)

// TestAValueApartFromItsNameIsHidden has hunter22 where people and programs put it below, behind and beside its name.
func TestAValueApartFromItsNameIsHidden(t *testing.T) {
	t.Parallel()
	r := redact.New("pin code")
	for _, text := range []string{
		// Blocks of YAML.
		"password: |\n  hunter22\n", "password: |\n  hunter22\nuser: ann", "db:\n  password: >-\n    hunter22\n  user: ann\n", "- password: |-\n    hunter22\n  user: ann",
		"api_key: |2 # the one of the staging system\n    hunter22", "\"client_secret\": |\r\n  hunter22\r\nuser: ann", "pin_code: |\n\n  hunter22", `password: |\n  hunter22\nuser: ann`, `{"text": "password: |\n  hunter22"}`,
		"- name: DB_PASSWORD\n  value: |\n    hunter22\n- name: USER\n  value: ann", "token: >\n  hunter22",
		// Comments between.
		"password: # of the database\n  hunter22\nuser: ann", "password = /* of the database */ \"hunter22\"", "password := // of the database\n\t\"hunter22\"", "password: # one\n  # two\n  hunter22",
		"- name: DB_PASSWORD # of the database\n  value: hunter22", "- name: DB_PASSWORD\n  # of the database\n  value: hunter22", "{name: \"api_key\", // of staging\n value: \"hunter22\"}", "{name: \"api_key\", /* of staging */ value: \"hunter22\"}",
		"- value: hunter22 # of the database\n  name: DB_PASSWORD",
		// Members that begin with the same word.
		"ParameterKey=DBPassword,ParameterValue=hunter22", "- ParameterKey: DBPassword\n  ParameterValue: hunter22", "ParameterValue=hunter22,ParameterKey=DBPassword", `"ParameterKey": "DBPassword", "ParameterValue": "hunter22"`,
		"env_name: DB_PASSWORD\nenv_value: hunter22", "header_name=Authorization&header_value=hunter22", `\"ParameterKey\":\"DBPassword\",\"ParameterValue\":\"hunter22\"`,
		// Forms.
		"name=password&value=hunter22", "value=hunter22&name=password", "POST /x\n\nkey=api_key&value=hunter22&x=1",
		"Content-Disposition: form-data; name=\"password\"\r\n\r\nhunter22\r\n--b", "Content-Disposition: form-data; name=api_key\nContent-Type: text/plain\n\nhunter22\n",
		// Lists of settings.
		"user: ann\npass: hunter22", "pass: hunter22 # of staging", "- pass: \"hunter22\"", "{user: ann, pass: hunter22}", "User: ann\nPass: hunter22\n", "smtp:\n  auth: zhunter22z", "mqtt_pass: hunter22", `user: ann\npass: hunter22\n`,
	} {
		want := strings.ReplaceAll(text, "hunter22", redact.Mark)
		if strings.Contains(text, "zhunter22z") {
			want = strings.ReplaceAll(text, "zhunter22z", redact.Mark)
		}
		got, hidden := r.Text(text)
		if !hidden || got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
		if again, _ := r.Text(got); again != got {
			t.Errorf("%q changes again, to %q", got, again)
		}
	}
	long := "password: |\n  one\n\n   two\n  three\nuser: ann"
	if got, _ := r.Text(long); got != "password: |\n  [redacted]\nuser: ann" {
		t.Errorf("%q", got)
	}
	for raw, want := range map[string]string{
		`[{"ParameterKey":"DBPassword","ParameterValue":"x"},{"ParameterKey":"Size","ParameterValue":"y"}]`: `[{"ParameterKey":"DBPassword","ParameterValue":"[redacted]"},{"ParameterKey":"Size","ParameterValue":"y"}]`,
		`{"ParameterValue":"x","ParameterKey":"DBPassword"}`:                                                `{"ParameterValue":"[redacted]","ParameterKey":"DBPassword"}`,
		`{"OptionName":"secret","OptionValue":["x"],"value":"y"}`:                                           `{"OptionName":"secret","OptionValue":["[redacted]"],"value":"y"}`,
	} {
		if got, hidden := r.JSON([]byte(raw)); !hidden || string(got) != want {
			t.Errorf("%s is shown as %s, want %s", raw, got, want)
		}
	}
}

func TestWhatStandsApartAndIsNoSecretStays(t *testing.T) {
	t.Parallel()
	r := redact.New()
	for _, text := range []string{
		"description: |\n  The password is asked for.\n", "password: |\nuser: ann", "password: >\n", "password: |\n  ${DB_PASSWORD}\n", "| password: | user: |\n  text",
		"password: # asked for\nuser: ann", "password: # asked for\n  user:\n    name: ann", "the password: // it is asked for", "password = /* asked for */",
		"- name: REGION # of the password\n  value: hunter22", "# the password\n- name: REGION\n  value: hunter22", "ParameterKey=Size,ParameterValue=hunter22", "username=password&value=hunter22", "approval: hunter22, app_name: secret", "name: password, interval: 1000",
		"name=region&value=hunter22", "name=x&note=password&value=hunter22", "Content-Disposition: form-data; name=\"comment\"\r\n\r\nhunter22\r\n", "Content-Disposition: form-data; name=\"password\"",
		"--- PASS: TestX2 (0.00s)", "PASS: suite22.sh", "pass: 12", "pass: all of them", "pass: ok", "compass: north22", "second pass: mem2reg", "bypass: hunter22", "pass: $PASS", "auth: basic", "auth: oauth2", "pass: true",
		"token := parser.next()", "mysql -u root -p", "mkdir -p abcd; mysql x", "notmysql -pabcd", "mysql x\nmkdir -pabcd", "redis-cli x; ls -a abcd",
	} {
		if got, hidden := r.Text(text); hidden || got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	for _, raw := range []string{`{"username":"password","value":"x"}`, `{"name":"password","interval":5,"approval":"x"}`, `{"ParameterKey":"DBPassword","value":"x"}`} {
		if got, hidden := r.JSON([]byte(raw)); hidden || string(got) != raw {
			t.Errorf("%s is shown as %s", raw, got)
		}
	}
}
