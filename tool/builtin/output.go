package builtin

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// headTail keeps the beginning and the end of what is written to it, as valid UTF-8, in memory bounded by a
// small multiple of its limit. It never fails, so a command is never stopped by what it prints.
type headTail struct {
	half    int    // bytes kept of each end
	head    []byte // complete at half bytes
	tail    []byte // the last half bytes are what counts; trimmed now and then
	dropped int64  // bytes that were trimmed off tail
	carry   []byte // the beginning of a rune whose rest has not come yet
	sealed  bool   // head takes no more
}

// omission is the room that the note in the middle may take.
const omission = 64

func newHeadTail(limit int) *headTail {
	return &headTail{half: max((limit-omission)/2, utf8.UTFMax)}
}

// Write takes all of p.
func (h *headTail) Write(p []byte) (int, error) {
	n := len(p)
	if len(h.carry) > 0 {
		p = append(h.carry, p...)
		h.carry = nil
	}
	whole := completeRunes(p)
	h.carry = bytes.Clone(p[whole:])
	h.take(safeBytes(p[:whole]))
	return n, nil
}

// take adds valid UTF-8.
func (h *headTail) take(p []byte) {
	if !h.sealed {
		room := h.half - len(h.head)
		if len(p) <= room {
			h.head = append(h.head, p...)
			return
		}
		for room > 0 && !utf8.RuneStart(p[room]) {
			room--
		}
		h.head = append(h.head, p[:room]...)
		h.sealed = true
		p = p[room:]
	}
	if over := len(p) - h.half; over > 0 {
		h.dropped += int64(len(h.tail) + over)
		h.tail = append(h.tail[:0], p[over:]...)
		return
	}
	h.tail = append(h.tail, p...)
	if over := len(h.tail) - h.half; over > h.half {
		h.dropped += int64(over)
		h.tail = h.tail[:copy(h.tail, h.tail[over:])]
	}
}

// String is what was kept, with a note where something is missing. It is at most the limit long.
func (h *headTail) String() string {
	if len(h.carry) > 0 {
		h.take([]byte("\uFFFD"))
		h.carry = nil
	}
	tail, dropped := h.tail, h.dropped
	if over := len(tail) - h.half; over > 0 {
		tail, dropped = tail[over:], dropped+int64(over)
	}
	if dropped == 0 {
		return string(h.head) + string(tail)
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail, dropped = tail[1:], dropped+1
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", h.head, dropped, tail)
}

// completeRunes is the length of p without a rune at its end that is only begun.
func completeRunes(p []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		i := len(p) - back
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return i
			}
			break
		}
	}
	return len(p)
}

func safeBytes(p []byte) []byte {
	if utf8.Valid(p) && bytes.IndexByte(p, 0) < 0 {
		return p
	}
	return []byte(safe(string(p)))
}
