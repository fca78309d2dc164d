package config

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// secretWords are the words of a name that say that its value is a secret. Plurals such as max_tokens are not.
var secretWords = []string{
	"secret", "secrets", "token", "password", "passwd", "passphrase", "passcode", "pwd", "pass", "pgpassword", "sslpassword",
	"credential", "credentials", "authorization", "auth", "bearer", "cookie", "cookies", "apikey", "accesskey", "privatekey", "key", "keys", "pat", "dsn",
}

// secretName reports whether a key or variable of this name holds a secret, as far as names tell: api_key,
// GITHUB_TOKEN, dbPassword, X-Auth.
func secretName(name string) bool {
	return slices.ContainsFunc(words(name), func(w string) bool { return slices.Contains(secretWords, w) })
}

// words splits a name at punctuation, and where a capital begins a word.
func words(name string) []string {
	var spaced strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r, lower = ' ', false
		case unicode.IsUpper(r) && lower:
			spaced.WriteByte(' ')
			lower = false
		default:
			lower = unicode.IsLower(r)
		}
		spaced.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(spaced.String())
}

var variableName = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// secretVariable reports whether a text as written takes a variable that holds a secret.
func secretVariable(raw string) bool {
	return slices.ContainsFunc(variableName.FindAllStringSubmatch(raw, -1), func(m []string) bool { return secretName(m[1]) })
}

var (
	userInfo   = regexp.MustCompile(`://[^\s"'<>]*@`)
	assignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]*)=`)
	inside     = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_-]*)(\s*=\s*)('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?:\\.|[^\s&"'])+)`)
	header     = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+)[^\s"']+`)
	known      = regexp.MustCompile(`\b(?:sk-|ghp_|gho_|github_pat_|xox[abp]-|glpat-|AKIA)[A-Za-z0-9_-]{8,}`)
)

// maskText masks what a text has of secrets in the usual places: credentials in URLs, NAME=value with a name that
// says so, authorization headers, and keys of well-known forms.
func maskText(text string) string {
	if m := assignment.FindStringSubmatch(text); m != nil && secretName(m[1]) {
		return m[0] + masked
	}
	text = userInfo.ReplaceAllString(text, "://"+masked+"@")
	text = inside.ReplaceAllStringFunc(text, func(found string) string {
		m := inside.FindStringSubmatch(found)
		if !secretName(m[1]) {
			return found
		}
		return m[1] + m[2] + masked
	})
	text = header.ReplaceAllString(text, "${1}${2}"+masked)
	return known.ReplaceAllString(text, masked)
}

// pairs is a connection string of key=value pairs, whole.
var (
	pairs   = regexp.MustCompile(`^\s*(?:[a-z_]+\s*=\s*(?:'(?:[^'\\]|\\.)*'|(?:\\.|[^\s'\\])*)(?:\s+|$))+$`)
	onePair = regexp.MustCompile(`([a-z_]+)(\s*=\s*)('(?:[^'\\]|\\.)*'|(?:\\.|[^\s'\\])*)`)
)

// plainParameters are the parameters of a connection that are no secret.
var plainParameters = []string{
	"host", "hostaddr", "port", "dbname", "user", "sslmode", "sslrootcert", "sslcert", "application_name", "connect_timeout", "target_session_attrs",
	"search_path", "service", "pool_max_conns", "pool_min_conns",
}

// maskedParameters are those that are known and never shown. A name that is neither may be a piece of a password that
// was not quoted.
var maskedParameters = []string{"password", "sslpassword", "passfile", "sslkey", "options"}

// parameter is what is shown of one; false when its name says nothing.
func parameter(name, value string) (string, bool) {
	switch {
	case slices.Contains(plainParameters, name):
		return value, true
	case slices.Contains(maskedParameters, name):
		return masked, true
	}
	return "", false
}

// maskConnection shows where a connection string leads, and of its parameters those that are known to be no secret.
// One that it can't read is masked whole.
func maskConnection(text string) string {
	if strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") {
		return maskConnectionURL(text)
	}
	if !pairs.MatchString(text) {
		return masked
	}
	known := true
	shown := onePair.ReplaceAllStringFunc(text, func(found string) string {
		m := onePair.FindStringSubmatch(found)
		value, ok := parameter(m[1], m[3])
		known = known && ok
		return m[1] + m[2] + value
	})
	if !known {
		return masked
	}
	return shown
}

func maskConnectionURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return masked
	}
	var b strings.Builder
	b.WriteString(u.Scheme + "://")
	if u.User != nil {
		b.WriteString(url.User(u.User.Username()).String())
		if _, has := u.User.Password(); has {
			b.WriteString(":" + masked)
		}
		b.WriteByte('@')
	}
	b.WriteString(u.Host + u.EscapedPath())
	query := u.Query()
	for i, name := range slices.Sorted(maps.Keys(query)) {
		sep := "&"
		if i == 0 {
			sep = "?"
		}
		value, ok := parameter(name, url.QueryEscape(query.Get(name)))
		if !ok {
			return b.String() + sep + masked
		}
		b.WriteString(sep + name + "=" + value)
	}
	return b.String()
}
