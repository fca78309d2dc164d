package redact

import (
	"regexp"
	"strings"
)

// Values stand behind their names in most texts: password=…, "api_key": "…", <password>…, --client-secret …. They are looked for at
// the few characters that come between, and the name is read backwards from there: one expression of all names takes
// a hundred times as long on a text that is full of them.

// value is what may stand behind a name.
const value = `(?:"((?:[^"\\\n$]|\\.)(?:[^"\\\n]|\\.){2,})(?:"|$)|\$?'([^'\n]{3,})(?:'|$)|\\{0,15}["']?((?:[^\s"',;&$\\]|\\[^\s"'])(?:[^\s"',;&\\]|\\[^\s"']){2,}))`

var (
	afterSign    = regexp.MustCompile(`^\s{0,4}` + value)
	afterBlank   = regexp.MustCompile(`^\s{1,4}` + value)
	afterElement = regexp.MustCompile(`^` + value)
	// aToken is what stands behind a name that ends in token, and could be a word's everywhere else.
	aToken = regexp.MustCompile(`^\s{0,4}\\{0,15}["']?([A-Za-z0-9._~+/=-]{8,})`)
)

var (
	tagName = regexp.MustCompile(`^<(?:[A-Za-z0-9_.-]{1,60}:)?([A-Za-z0-9_-]{1,100})(?:\s[^<]*?\bname=["'](?:[^"']{0,200}[.:])?([A-Za-z0-9_-]{1,100})["'])?`)
	setter  = regexp.MustCompile(`(?i)(?:set|env|define|put|add|append|header|property|item|export)\s?\(\s?$`)
	quoted  = regexp.MustCompile(`^\s{0,4}\\{0,15}(?:"((?:[^"\\\n$]|\\.){3,}?)\\{0,15}"|'([^'\n$]{3,}?)\\{0,15}')`)
)

// maxName bounds how far back a name is read.
const maxName = 300

// assignments finds the values of names that are of secrets.
func (r *Rules) assignments(s string) (holes []hole) {
	for i := 0; i < len(s); {
		if h, found := r.assignment(s, i); found {
			holes = append(holes, h)
			i = h.to
		} else {
			i++
		}
	}
	return holes
}

// assignment looks at what may come between a name and its value.
func (r *Rules) assignment(s string, i int) (h hole, found bool) {
	switch c := s[i]; {
	case c == ':' || c == '=':
		word := wordBefore(s, i)
		if !r.named(word) && !r.phrased(s[:i]) {
			return r.token(s, i+1, word, aToken)
		}
		if len(s) > i+1 && (s[i:i+2] == ":=" || s[i:i+2] == "=>") {
			if h, found = hidden(s, i+2, word, afterSign); found {
				return h, found
			}
		}
		return hidden(s, i+1, word, afterSign)
	case c == '%' && len(s) > i+2 && strings.EqualFold(s[i:i+3], "%3d"):
		if word := wordBefore(s, i); r.named(word) {
			return hidden(s, i+3, word, afterSign)
		}
	case c == '>':
		word := wordAt(s, i)
		if r.named(word) || r.tagged(s[:i]) {
			return hidden(s, i+1, word, afterElement)
		}
	case c == ',':
		if word := handedOver(s, i); r.named(word) || strings.HasSuffix(plain(word), "token") {
			return hidden(s, i+1, word, quoted)
		}
	case blank(c) && i > 0 && wordy(s[i-1]):
		word := wordAt(s, i)
		if r.option(word) {
			return hidden(s, i, word, afterBlank)
		}
		if at := strings.LastIndexByte(word, '-'); at >= 0 {
			return r.token(s, i, word, aToken)
		}
	}
	return h, false
}

// hidden is the value that begins at a place, unless it is no secret.
func hidden(s string, at int, word string, re *regexp.Regexp) (h hole, found bool) {
	h, found = group(re.FindStringSubmatchIndex(s[at:]), at, 2)
	if !found || s[h.from:h.to] == Mark {
		return h, false
	}
	if strings.HasSuffix(plain(word), "authorization") && schemes.MatchString(word+": "+s[h.from:h.to]) {
		return h, false
	}
	return h, true
}

// token is the value behind a name that ends in token. Those of pages are nobody's secret.
func (r *Rules) token(s string, at int, word string, re *regexp.Regexp) (h hole, found bool) {
	name := plain(word)
	if !strings.HasSuffix(name, "token") || strings.HasSuffix(name, "pagetoken") {
		return h, false
	}
	return hidden(s, at, word, re)
}

// named reports whether a word ends in the name of a secret, perhaps with its number.
func (r *Rules) named(word string) bool {
	if word == "" {
		return false
	}
	p := plain(strings.ToLower(word))
	bare := p
	for n := 0; n < 2 && bare != "" && bare[len(bare)-1] >= '0' && bare[len(bare)-1] <= '9'; n++ {
		bare = bare[:len(bare)-1]
	}
	for _, name := range r.names {
		if strings.HasSuffix(bare, name) || strings.HasSuffix(p, name) {
			return true
		}
	}
	return false
}

// option reports whether a word is an option that is named so: there is a dash before the name.
func (r *Rules) option(word string) bool {
	dash := strings.IndexByte(word, '-')
	if dash < 0 {
		return false
	}
	p := plain(strings.ToLower(word[dash:]))
	for _, name := range r.names {
		if strings.HasSuffix(p, name) {
			return true
		}
	}
	return false
}

// wordBefore is the word that ends before a sign: blanks, a quote and its escape may be between.
func wordBefore(s string, i int) string {
	for n := 0; n < 4 && i > 0 && blank(s[i-1]); n++ {
		i--
	}
	if i > 1 && s[i-1] == ']' && (s[i-2] == '"' || s[i-2] == '\'') { // environ["PASSWORD"] = …
		i--
	}
	return wordAt(s, unquoted(s, i))
}

// unquoted is where a word ends behind which a quote stands, with its escapes: as many as texts are within texts.
func unquoted(s string, i int) int {
	if i > 0 && (s[i-1] == '"' || s[i-1] == '\'') {
		i--
	}
	for n := 0; n < 15 && i > 0 && s[i-1] == '\\'; n++ {
		i--
	}
	return i
}

// phrased reports whether a text ends in a name of more than one word that was given.
func (r *Rules) phrased(s string) bool {
	return r.phrases != nil && r.phrases.MatchString(s[max(0, len(s)-maxPhrase):])
}

const maxPhrase = 80

// tagged reports whether a text ends in a tag without its end, of an element whose name, or name attribute, is a secret's.
func (r *Rules) tagged(s string) bool {
	s = s[max(0, len(s)-maxName):]
	at := strings.LastIndexByte(s, '<')
	if at < 0 {
		return false
	}
	tag := tagName.FindStringSubmatch(s[at:])
	return tag != nil && (r.named(tag[1]) || r.named(tag[2]))
}

// handedOver is the first of the words that a setter is handed, as in setenv("PASSWORD", …): i is where the comma stands.
func handedOver(s string, i int) string {
	word := wordAt(s, unquoted(s, i))
	if word == "" || s[i-1] != '"' && s[i-1] != '\'' {
		return ""
	}
	from := unquoted(s, unquoted(s, i)-len(word))
	if !setter.MatchString(s[max(0, from-20):from]) {
		return ""
	}
	return word
}

// wordAt is the word that ends at a place.
func wordAt(s string, i int) string {
	from := i
	for from > 0 && i-from < maxName && wordy(s[from-1]) {
		from--
	}
	return s[from:i]
}

// wordy reports whether a byte may be one of a name's.
func wordy(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c >= 0x80
}

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' && c != '\v' }
