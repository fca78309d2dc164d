package permission

import "unicode/utf8"

// plainMembers reads the arguments of most calls, which are one object of texts without \u escapes, each name once. ok
// is false for everything else, right or wrong: that is for [argReader].
func plainMembers(raw []byte) (out object, ok bool) {
	p := plainReader{raw: raw}
	if len(raw) > maxPlainArgs || !p.take('{') {
		return nil, false
	}
	for !p.take('}') {
		if len(out) > 0 && !p.take(',') || len(out) == maxPlainMembers {
			return nil, false
		}
		name, ok := p.text()
		if !ok || !p.take(':') {
			return nil, false
		}
		value, ok := p.text()
		if !ok {
			return nil, false
		}
		for _, m := range out {
			if m.name == name {
				return nil, false
			}
		}
		out = append(out, member{name, value})
	}
	p.blanks()
	return out, p.at == len(raw)
}

// Bounds of what is read the short way.
const (
	maxPlainArgs    = 64 << 10
	maxPlainMembers = 8
)

type plainReader struct {
	raw []byte
	at  int
}

func (p *plainReader) blanks() {
	for p.at < len(p.raw) && (p.raw[p.at] == ' ' || p.raw[p.at] == '\n' || p.raw[p.at] == '\t' || p.raw[p.at] == '\r') {
		p.at++
	}
}

// take reads one mark, with blanks before it.
func (p *plainReader) take(c byte) bool {
	p.blanks()
	if p.at < len(p.raw) && p.raw[p.at] == c {
		p.at++
		return true
	}
	return false
}

// text reads one string.
func (p *plainReader) text() (string, bool) {
	if !p.take('"') {
		return "", false
	}
	start, escaped, wide := p.at, false, false
	for ; p.at < len(p.raw); p.at++ {
		switch c := p.raw[p.at]; {
		case c == '"':
			written := p.raw[start:p.at]
			p.at++
			switch {
			case wide && !utf8.Valid(written):
				return "", false
			case escaped:
				return unescaped(written)
			default:
				return string(written), true
			}
		case c == '\\':
			escaped = true
			p.at++
		case c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			wide = true
		}
	}
	return "", false
}

// unescaped undoes the escapes of one letter.
func unescaped(s []byte) (string, bool) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' {
			i++ // there is one: it is what kept the string from ending
			switch c = s[i]; c {
			case '"', '\\', '/':
			case 'b':
				c = '\b'
			case 'f':
				c = '\f'
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			default:
				return "", false
			}
		}
		out = append(out, c)
	}
	return string(out), true
}
