package compress

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
)

// What stands in a packed text for what it is shorter than. JSON has none of these bytes; where a text has one, literal
// comes before it.
const (
	here    byte = 1 // the key
	anID    byte = 2 // a UUID, as its 16 bytes
	aHash   byte = 3 // 64 hexadecimal digits, as their 32 bytes
	aDigest byte = 4 // 32 hexadecimal digits, as their 16 bytes
	aTime   byte = 5 // a time as RFC 3339 has it, in UTC, as the 8 bytes of its nanoseconds since 1970
	literal byte = 6
)

const idLength = 36 // of a UUID's text

// pack returns a text with here for the key, if there is one, and the bytes of what is spelt in hexadecimal.
func pack(text, key string) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case key != "" && c == key[0] && strings.HasPrefix(text[i:], key):
			out, i = append(out, here), i+len(key)
		case c >= here && c <= literal:
			out, i = append(out, literal, c), i+1
		case hexadecimal(c):
			kind, n := spelt(text[i:])
			out, i = packSpelt(out, kind, text[i:i+n]), i+n
		default:
			out, i = append(out, c), i+1
		}
	}
	return out
}

// spelt tells what a text begins with that begins with a hexadecimal digit, and its length; 0 for digits that are no more than that.
func spelt(text string) (kind byte, n int) {
	if n := timeLength(text); n > 0 {
		return aTime, n
	}
	for n < len(text) && n < 2*32 && hexadecimal(text[n]) {
		n++
	}
	switch {
	case n == 2*32:
		return aHash, n
	case n == 2*16:
		return aDigest, n
	case n == 8 && len(text) >= idLength && isID(text[:idLength]):
		return anID, idLength
	}
	return 0, n
}

func packSpelt(out []byte, kind byte, digits string) []byte {
	switch kind {
	case 0:
		return append(out, digits...)
	case aTime:
		at, _ := time.Parse(time.RFC3339Nano, digits) // timeLength has
		return binary.BigEndian.AppendUint64(append(out, kind), uint64(at.UnixNano()))
	}
	b, err := hex.DecodeString(strings.ReplaceAll(digits, "-", ""))
	if err != nil { // never: they are digits
		return append(out, digits...)
	}
	return append(append(out, kind), b...)
}

// timeLength is the length of the time that a text begins with, if unpack would spell it so again, and 0 otherwise.
func timeLength(text string) int {
	const least, most = len("2006-01-02T15:04:05Z"), len("2006-01-02T15:04:05.123456789Z")
	if len(text) < least || text[4] != '-' || text[10] != 'T' {
		return 0
	}
	n := 1 + strings.IndexByte(text[:min(len(text), most)], 'Z')
	at, err := time.Parse(time.RFC3339Nano, text[:n])
	if err != nil || timeOf(uint64(at.UnixNano())) != text[:n] {
		return 0
	}
	return n
}

func timeOf(nanoseconds uint64) string {
	return time.Unix(0, int64(nanoseconds)).UTC().Format(time.RFC3339Nano)
}

func hexadecimal(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

// isID reports whether a text is a UUID as pack finds it again: in small letters.
func isID(text string) bool {
	for i := range len(text) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (text[i] == '-') || !dash && !hexadecimal(text[i]) {
			return false
		}
	}
	return true
}

var errCut = errors.New("it ends in the middle of an id")

// unpack returns what pack was given.
func unpack(text, key string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(text) && out.Len() <= MaxLength; i++ {
		size := 0
		switch text[i] {
		case here:
			out.WriteString(key)
			continue
		case anID, aDigest:
			size = 16
		case aHash:
			size = 32
		case aTime:
			size = 8
		case literal:
			size = 1
		default:
			out.WriteByte(text[i])
			continue
		}
		if len(text)-i-1 < size {
			return "", errCut
		}
		unpackSpelt(&out, text[i], text[i+1:i+1+size])
		i += size
	}
	if out.Len() > MaxLength {
		return "", tooLong(out.Len())
	}
	return out.String(), nil
}

func unpackSpelt(out *strings.Builder, kind byte, b string) {
	switch kind {
	case anID:
		out.WriteString(uuid.UUID([]byte(b)).String())
	case aTime:
		out.WriteString(timeOf(binary.BigEndian.Uint64([]byte(b))))
	case literal:
		out.WriteString(b)
	default:
		out.WriteString(hex.EncodeToString([]byte(b)))
	}
}
