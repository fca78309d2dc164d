package redact

import (
	"regexp"
	"slices"
	"strings"
)

// shape is what one kind of secret looks like. hints are what stands in every text that has one: in lower case, or, where one
// has capitals, just so. A text without is not searched. Where the expression has groups, the one that is there is the secret.
type shape struct {
	hints []string
	near  func(q *sought) bool // in place of hints
	re    *regexp.Regexp
	only  verdict // nil takes all that it finds
}

// verdict says whether a text that was found has a secret in it.
type verdict func(found, secret string) bool

func of(expression string, hints ...string) shape {
	return shape{hints: hints, re: regexp.MustCompile(expression)}
}

// nearer is the shape for texts in which something common goes on in one of a few ways.
func (f shape) nearer(first string, then ...string) shape {
	f.near = func(q *sought) bool {
		return q.has(first) && slices.ContainsFunc(then, func(t string) bool { return q.has(first + t) })
	}
	return f
}

// token is a shape that nothing but a letter or digit before it makes something else: an underscore does not.
func token(expression string, hints ...string) shape {
	return of("(?:^|[^A-Za-z0-9])("+expression+")", hints...)
}

// scheme is a header up to what is secret of it.
const scheme = `(?i)\bauthorization\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?(?:token|api-?key|bearer|basic|digest|negotiate|ntlm|hawk|key|aws4-hmac-sha256)`

// schemes are no secrets, though they stand beside a name of such.
var schemes = regexp.MustCompile(scheme + `$`)

// shapes are the formats that services publish for their tokens, as gitleaks (MIT) also lists them, headers and addresses.
// None needs entropy or a guess: what looks like prose stays.
var shapes = []shape{
	of(`-----BEGIN[ A-Z0-9_-]{0,60}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END[ A-Z0-9_-]{0,60}PRIVATE KEY(?: BLOCK)?-----|\z)`, "private key"),
	token(`AGE-SECRET-KEY-1[A-Z0-9]{50,}`, "age-secret-key-1"),
	token(`(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}`, "akia", "asia", "abia", "acca"),
	token(`gh[oprsu]_[A-Za-z0-9]{30,}`, "gho_", "ghp_", "ghr_", "ghs_", "ghu_"),
	token(`github_pat_[A-Za-z0-9_]{22,}`, "github_pat_"),
	token(`gl(?:pat|ptt|dt|rt|soat|cbt|ft|agent|oas)-[A-Za-z0-9_.-]{20,}`).nearer("gl", "pat-", "ptt-", "dt-", "rt-", "soat-", "cbt-", "ft-", "agent-", "oas-"),
	token(`xox[a-z]-[A-Za-z0-9-]{10,}`, "xox"),
	token(`xapp-[0-9]-[A-Za-z0-9-]{10,}`, "xapp-"),
	of(`hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,})`, "hooks.slack.com"),
	token(`[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}`, "k_live_", "k_test_", "k_prod_"),
	token(`whsec_[A-Za-z0-9+/=_-]{16,}`, "whsec_"),
	token(`sk-[A-Za-z0-9_-]{20,}`, "sk-"),
	token(`AIza[A-Za-z0-9_-]{30,}`, "aiza"),
	token(`ya29\.[A-Za-z0-9_-]{20,}`, "ya29."),
	token(`GOCSPX-[A-Za-z0-9_-]{20,}`, "gocspx-"),
	token(`npm_[A-Za-z0-9]{30,}`, "npm_"),
	token(`pypi-[A-Za-z0-9_-]{16,}`, "pypi-"),
	token(`hf_[A-Za-z0-9]{30,}`, "hf_"),
	token(`SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, "sg."),
	token(`SK[0-9a-f]{32}`, "SK"),
	token(`do[opr]_v1_[a-f0-9]{40,}`, "_v1_"),
	token(`shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`, "shp"),
	token(`hv[bsr]\.[A-Za-z0-9_-]{20,}`, "hvb.", "hvs.", "hvr."),
	of(`(?:^|[^A-Za-z0-9]|bot)([0-9]{8,10}:AA[A-Za-z0-9_-]{30,})`, ":aa"),
	of(`(?i)\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=([A-Za-z0-9+/%=&_.-]{16,})`, "accountkey", "sharedaccess"),
	token(`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, "eyj"),
	token(`dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}`, "dckr_"),
	token(`(?:gsk|figd|rubygems|ntn|r8|sbp|lin_api|sntry[su])_[A-Za-z0-9_=+/.-]{30,}`, "gsk_", "figd_", "rubygems_", "ntn_", "r8_", "sbp_", "lin_api_", "sntry"),
	token(`(?:xai|pplx|CFPAT|PMAK|ATATT3x)[A-Za-z0-9_=-]{30,}`, "xai-", "pplx-", "cfpat-", "pmak-", "atatt3x"),
	token(`tskey-[a-z]+-[A-Za-z0-9-]{12,}`, "tskey-"),
	token(`dapi[a-f0-9]{32}`, "dapi"),
	token(`key-[a-f0-9]{32}`, "key-"),
	token(`1//0[A-Za-z0-9_-]{30,}`, "1//0"),
	of(`discord(?:app)?\.com/api/webhooks/([0-9]{15,25}/[A-Za-z0-9_-]{30,})`, "/api/webhooks/"),
	of(`(?i)[?&](?:x-amz-signature|x-goog-signature|signature|sig)=([A-Za-z0-9%+/=_-]{16,})`).nearer("sig", "=", "nature="),
	of(`:_auth\s*=\s*["']?([A-Za-z0-9+/=]{8,})`, ":_auth"),
	// Of a header, all that follows the name is secret: the scheme is one word, or one of several.
	of(scheme+`[ \t]+([^\r\n"'\\$<]{4,})`, "authorization"),
	of(`(?i)\bcookie:[ \t]*([^\r\n"'\\$<]{4,})`, "cookie:"),
	of(`\bsshpass\s+-p\s*["']?([^\s"'$]{3,})`, "sshpass"),
	of(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})`, "bearer", "basic"),
	of(`(?i)\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@"'<>]{0,200}:([^\s/@"'<>]{1,500})@`, "://"),
	{near: func(q *sought) bool { return q.has("://") && strings.Contains(q.lower, "@") }, only: func(_, user string) bool {
		return strings.ContainsAny(user, "0123456789") && strings.ContainsFunc(user, letter)
	},
		re: regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]{0,30}://([A-Za-z0-9_-]{20,200})(?::[^\s/@"'<>]{0,500})?@`)}, // a token in the place of a user
	of(`[^\s:@/"'=(]{1,100}:([^\s@"']{1,200})@(?:tcp|udp|unix)[46]?\(`, "@tcp", "@udp", "@unix"),
	of(`(?i)\b(?:machine\s+\S{1,200}|default)\s+login\s+\S{1,200}\s+(?:account\s+\S{1,200}\s+)?password\s+["']?([^\s"']{3,})`, "login"),
	{hints: []string{"identified"}, only: noState, re: regexp.MustCompile(`(?i)\bidentified\s+(?:with\s+\S{1,60}\s+)?(?:by|as)\s+(?:password\s+)?'([^'\n]{3,500})'`)},
	{near: func(q *sought) bool { return q.has("password") && q.hasAny("create", "alter", "set ") }, only: noState,
		re: regexp.MustCompile(`(?i)\b(?:create|alter|set)\s[^;\n']{0,200}?\bpassword\s*(?:for\s[^=;\n']{1,60})?=?\s*(?:password\s*)?\(?\s*'([^'\n]{3,500})'`)},
	of(`--from-literal[= ]["']?[^=\s]{1,200}=([^\s"']{3,})`, "--from-literal"),
	{near: func(q *sought) bool { return q.hasAny("password-stdin", "chpasswd") || q.has("sudo") && q.has("|") },
		re: regexp.MustCompile(`\b(?:echo|printf)\s+(?:-[a-zA-Z]+\s+|["']?%s(?:\\n)?["']?\s+)?["']?([^\s"'|$]{3,200})["']?\s*\|\s*(?:sudo\s[^|\n;&]{0,60}?-[A-Za-z]*S|(?:sudo\s+)?chpasswd|[^|\n;&]{0,200}--password-stdin)\b`)},
	of(`\bchpasswd\s*<<<\s*["']?([^\s"'$]{3,})`, "chpasswd"),
	weak,
	member,
	of(`(?:^|\s)(?:-u|--user|--proxy-user)[ =]*["']?[^\s:"']{1,200}:([^\s"']{1,500})`, "-u"),
}

// usual are the names of fields whose values are secrets. A name counts if it ends so, in any spelling: db_password,
// X-Api-Key, clientSecret.
var usual = []string{"password", "passwd", "passphrase", "pwd", "secret", "apikey", "secretkey", "accesskey", "privatekey", "accesstoken", "refreshtoken",
	"authtoken", "sessiontoken", "bearertoken", "apitoken", "authorization", "cookie", "credentials", "connectionstring", "passcode", "dbpass", "userpass",
	"smtppass", "signingkey", "encryptionkey", "masterkey", "accountkey", "authkey", "secretkeybase"}

// spelled are expressions for names, with what may divide their letters.
func spelled(names []string, between string) []string {
	out := make([]string, len(names))
	for n, name := range names {
		letters := make([]string, 0, len(name))
		for _, r := range name {
			letters = append(letters, regexp.QuoteMeta(string(r)))
		}
		out[n] = strings.Join(letters, between)
	}
	return out
}

// plain is a name without what spellings differ in.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r > 127:
			return r
		case r >= 'A' && r <= 'Z':
			return r + ('a' - 'A')
		default:
			return -1
		}
	}, name)
}
