// Package compress makes texts shorter that the store keeps in great numbers. Most are JSON of a few shapes: the names of
// fields, the sentences of a question's options and the ids that a run's records share are four fifths of what a parked run
// stores. They are too short to be compressed each by itself, so there is a dictionary with an example of most shapes, to which
// zstd (RFC 8878) refers.
//
// Text and FromText are for a column of text, Bytes and FromBytes for what is sealed, and for columns that take any bytes.
package compress

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// dictionary1 never changes: what was compressed with it is lost without it. One that fits better has another number, and a
// prefix and a mark of its own.
//
//go:embed dictionary/1.txt
var dictionary1 []byte

const (
	// Prefix begins a compressed text: a frame of zstd with the first dictionary, in base64.
	Prefix = "zstd1:"
	// mark begins compressed bytes. No text that is given to Bytes begins so.
	mark = '\x00'
	// near follows the mark where here stands for the key. No frame begins so.
	near = '\x01'
	// here stands for the key: JSON has no such character, and a text that has it is compressed as it is.
	here = "\x01"

	dictionaryID = 1
	// shortest is the length below which too little is gained for the time it takes.
	shortest = 128

	// MaxLength bounds what is decompressed, in bytes: a small frame can stand for a text that fills the memory.
	MaxLength = 16 << 20
)

var (
	encoder = working(zstd.NewWriter(nil, zstd.WithEncoderDictRaw(dictionaryID, dictionary1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true)))
	decoder = working(zstd.NewReader(nil, zstd.WithDecoderDictRaw(dictionaryID, dictionary1), zstd.WithDecoderMaxMemory(MaxLength),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(0)))
)

// working is for what fails only when its options are wrong.
func working[T any](v T, err error) T {
	if err != nil {
		panic("compress: " + err.Error())
	}
	return v
}

func frame(text string) []byte { return encoder.EncodeAll([]byte(text), make([]byte, 0, len(text)/2)) }

// Text returns a text that FromText turns back: the compressed one in base64, or the text itself where that is shorter. The
// text must not begin with Prefix.
func Text(text string) string {
	if len(text) < shortest {
		return text
	}
	f := frame(text)
	if len(Prefix)+base64.RawStdEncoding.EncodedLen(len(f)) >= len(text) {
		return text
	}
	return Prefix + base64.RawStdEncoding.EncodeToString(f)
}

// FromText returns what Text was given. An error has no text.
func FromText(stored string) (string, error) {
	coded, compressed := strings.CutPrefix(stored, Prefix)
	if !compressed {
		return stored, nil
	}
	f, err := base64.RawStdEncoding.DecodeString(coded)
	if err != nil {
		return "", fmt.Errorf("it is no compressed text: %w", err)
	}
	return decompress(f)
}

// Bytes returns bytes that FromBytes turns back with the same key: compressed, or the text's own where those are fewer. The
// text must not begin with NUL. A key is what is kept beside the value, and so need not stand in it; "" for none.
func Bytes(text, key string) []byte {
	if len(text) < shortest {
		return []byte(text)
	}
	b := []byte{mark}
	if key != "" && strings.Contains(text, key) && !strings.Contains(text, here) {
		b = append(append(b, near), frame(strings.ReplaceAll(text, key, here))...)
	} else {
		b = append(b, frame(text)...)
	}
	if len(b) >= len(text) {
		return []byte(text)
	}
	return b
}

// Compressed reports whether Bytes made the text shorter.
func Compressed(b []byte) bool { return len(b) > 0 && b[0] == mark }

// FromBytes returns what Bytes was given. An error has no text.
func FromBytes(b []byte, key string) (string, error) {
	if !Compressed(b) {
		return string(b), nil
	}
	b = b[1:]
	if len(b) == 0 || b[0] != near {
		return decompress(b)
	}
	text, err := decompress(b[1:])
	if err != nil {
		return "", err
	}
	if n := len(text) + strings.Count(text, here)*(len(key)-len(here)); n > MaxLength {
		return "", fmt.Errorf("it has %d bytes, and %d are allowed", n, MaxLength)
	}
	return strings.ReplaceAll(text, here, key), nil
}

func decompress(frame []byte) (string, error) {
	text, err := decoder.DecodeAll(frame, nil)
	if err != nil {
		return "", fmt.Errorf("it can't be decompressed: %w", err)
	}
	return string(text), nil
}
