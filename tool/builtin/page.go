package builtin

import (
	"bufio"
	"errors"
	"io"
)

// page takes whole lines out of a text, from line offset on, as many as limit and room allow. It needs no
// more memory than room, however long the lines before it are.
type page struct {
	offset, limit, room int

	text  []byte
	lines int  // how many lines text has
	line  int  // how many lines were passed, those of text included
	cut   bool // the only line of text was too long and lost its end
	more  bool // there is something behind text
}

// read fills the page.
func (p *page) read(in *bufio.Reader) error {
	begin := 0 // of the present line in text
	for fresh := true; ; {
		part, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if len(part) == 0 {
			return nil // the end
		}
		if fresh {
			p.line++
			begin = len(p.text)
		}
		fresh = part[len(part)-1] == '\n'
		if p.line < p.offset {
			continue
		}
		if p.lines == p.limit || (p.cut && p.line > p.offset) {
			p.more = true
			return nil
		}
		if len(p.text)+len(part) > p.room {
			if !p.overflow(part, begin) {
				return nil
			}
		} else if !p.cut {
			p.text = append(p.text, part...)
		}
		if fresh || errors.Is(err, io.EOF) {
			p.lines++
		}
	}
}

// overflow deals with a line that does not fit: it is left for the next page, unless it is the only one here.
// Then its beginning stays and the rest is passed over. It reports whether to go on.
func (p *page) overflow(part []byte, begin int) bool {
	if begin > 0 {
		p.text = p.text[:begin]
		p.more = true
		return false
	}
	if !p.cut {
		p.text = append(p.text, part[:p.room-len(p.text)]...)
		p.text = p.text[:completeRunes(p.text)]
		p.cut = true
	}
	return true
}
