package redact

import (
	"regexp"
	"strings"
)

// stems begin the words by which people speak of a secret, or end them.
var stems = []string{"pass", "secret", "token", "key"}

// spoken reports whether a text without a name as fields have it may speak of a secret.
func spoken(q *sought) bool { return q.hasAny("token", "i key", "s key") }

var (
	// word is such a word.
	word = regexp.MustCompile(`^(?:pass(?:word|phrase|code|wd)|secret|token|key)`)
	// whose is what makes a key one that is secret.
	whose = regexp.MustCompile(`(?:api|access|secret|private|signing|encryption)[ _-]?$`)
	// told is what goes on with the secret itself.
	told = regexp.MustCompile(`^(?i)(?:[ \t]+(?:for|of|on|at)[ \t][^\n.;:,=]{1,60}?)?(?:(?:[ \t]+(?:is|was|to)|'s)[ \t]*:?|:)[ \t]*` +
		"(?:\\\\?[\"'`]([^\"'`\\n$\\\\]{3,200})\\\\?[\"'`]|([^\\s\"'`$<>\\[\\]{}()\\\\]{6,}))")
	pageBefore = regexp.MustCompile(`page[ _-]?$`)
)

// said finds the secrets that a text speaks of: the password is hunter2. What is quoted is one, unless it says what became of
// it; what is not must look like no word.
func (r *Rules) said(s, lower string) (holes []hole) {
	add := func(from, end int) {
		at := told.FindStringSubmatchIndex(s[end:])
		if at == nil || pageBefore.MatchString(lower[max(0, from-8):from]) {
			return
		}
		n := 2
		if at[n] < 0 {
			n = 4
		}
		h := hole{end + at[n], end + at[n+1]}
		if secret := s[h.from:h.to]; secret != Mark && !state.MatchString(secret) && (n == 2 || mixed(secret)) {
			holes = append(holes, h)
		}
	}
	for _, stem := range stems {
		for at := 0; ; {
			i := strings.Index(lower[at:], stem)
			if i < 0 {
				break
			}
			i += at
			at = i + len(stem)
			found := word.FindString(lower[i:min(len(lower), i+12)])
			if found != "" && (stem != "key" || whose.MatchString(lower[max(0, i-12):i])) {
				add(i, i+len(found))
			}
		}
	}
	if r.added != nil {
		for _, at := range r.added.FindAllStringIndex(s, -1) {
			add(at[0], at[1])
		}
	}
	return holes
}

// weak finds values behind names that are secret by their value alone.
var weak = shape{near: assigns, only: lookedAt,
	re: regexp.MustCompile(`(?i)(?:^|[?&;,\s"'(])(?:-{0,2}(?:[a-z0-9_-]{0,40}[_-])?(?:pass|auth|pw)(?:=|%3D)|--(?:pass|auth)[ \t]+|-pass(?:in|out)?[ \t]+pass:)["']?([^\s"'&#<>$;,\\()]{4,500})`)}

// assigns reports whether a text has such a name before an equals sign, or as an option.
func assigns(q *sought) bool {
	return q.hasAny("pass=", "auth=", "pw=", "-pass", "--auth", "pass%3d", "auth%3d", "pw%3d")
}

// member finds a password as it stands in lists of settings and in what people paste: pass: hunter22, at the beginning of a line or
// of a member, and up to its end. PASS in capitals is how tests begin to tell their results.
var member = shape{near: func(q *sought) bool { return q.hasAny("pass", "auth", "pw") && q.has(":") }, only: func(found, secret string) bool {
	return mixed(secret) && !state.MatchString(secret) && !strings.HasPrefix(strings.TrimLeft(found, "\r\n\t {,-\"'"), "PASS")
}, re: regexp.MustCompile(`(?im)(?:^|[{,]|\\[nrt])[ \t]*(?:-[ \t]+)?["']?(?:[a-z0-9_-]{0,40}[_-])?(?:pass|auth|pw)["']?[ \t]*:[ \t]+["']?([^\s"'&#<>$;,\\(){}]{4,500})(?:["',}\\]|[ \t]*(?:#.*)?\r?$)`)}

// noState reports a text that may be a password, and does not say what became of one.
func noState(_, secret string) bool { return !state.MatchString(secret) }

// unsure are the names behind which less is a secret.
var unsure = regexp.MustCompile(`(?i)(?:(?:auth|pw)(?:=|%3D)|[ \t])["']?$`)

// lookedAt takes for a password what is no state and no number, and behind what need not be about one, what mixes letters and
// digits.
func lookedAt(found, secret string) bool {
	if state.MatchString(secret) || !strings.ContainsFunc(secret, letter) {
		return false
	}
	return !unsure.MatchString(strings.TrimSuffix(found, secret)) || mixed(secret)
}

// weakNames are of members whose text is hidden where it is mixed: a pass may be one of a compiler's, too.
var weakNames = []string{"pass", "auth", "pw"}

// state is a word for what becomes of a password, or how somebody proves who they are, and no secret.
var state = regexp.MustCompile(`(?i)^(?:true|false|yes|no|on|off|none|null|nil|undefined|empty|blank|unset|set|required|optional|enabled|disabled|allowed|denied|` +
	`pass(?:ed|word)?|fail(?:ed)?|skip(?:ped)?|okay|prompt|stdin|file|default|wrong|invalid|valid|correct|incorrect|missing|expired|changed|encrypted|hashed|hidden|secret|` +
	`basic|bearer|digest|token|oauth2?|oidc|saml|ldap|kerberos|negotiate|ntlm(?:v2)?|plain|login|xoauth2|(?:scram-)?sha-?[0-9-]+|hmac-?sha-?[0-9]+|aws4-hmac-sha256|cram-md5|md5|x509|mtls|[*x•._-]+)[.,;:!?)]*$`)

// measure begins a word that is about a secret: how it is kept, how long it is, how long it holds.
var measure = regexp.MustCompile(`(?i)^(?:sha-?[0-9]|md5|base(?:32|58|64)|argon2|pbkdf2|bcrypt|utf-?(?:8|16)|aes-?[0-9]|rsa-?[0-9]|ed25519|x509|` +
	`v?[0-9]+(?:\.[0-9]+)*[-–]?(?:char|digit|byte|bit|day|week|month|year|hour|minute|second|letter|word|symbol|th\b|st\b|nd\b|rd\b|(?:ms|[smhd]|[kmg]i?b)\b)|v[0-9]+(?:\.[0-9]+)*$|[0-9]{4}-[0-9]{2}-[0-9]{2})`)

// mixed reports whether a word mixes letters with digits, or with signs that no word has within.
func mixed(text string) bool {
	word := strings.TrimRight(text, ".,;:!?)")
	if strings.ContainsAny(word, " \t\r\n") {
		return false
	}
	if len(word) < 6 || measure.MatchString(word) || strings.Contains(word, "://") || strings.HasPrefix(word, "/") {
		return false
	}
	return strings.ContainsFunc(word, letter) && strings.ContainsAny(word, "0123456789!@#%^*+=~")
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
