// Package compress makes texts shorter that the store keeps in great numbers. Most are JSON of a few shapes: the names of
// fields, the sentences of a question's options and the ids that a run's records share are four fifths of what a parked run
// stores. They are too short to be compressed each by itself, so there is a dictionary with an example of most shapes, to which
// zstd (RFC 8878) refers. Ids and hashes, which no dictionary has, are packed first: they are bytes, spelt in hexadecimal.
//
// Text and FromText are for a column of text, Bytes and FromBytes for what is sealed, and for columns that take any bytes.
package compress

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// The dictionaries never change: what was compressed with one is lost without it. Frames name theirs by its number, and one that
// fits better has another. The second has {run} where a run's own id stands, and is for texts that are packed.
var (
	//go:embed dictionary/1.txt
	dictionary1 []byte
	//go:embed dictionary/2.txt
	examples2   string
	dictionary2 = []byte(strings.ReplaceAll(examples2, "{run}", string(here)))
)

const (
	// Prefix begins a compressed text: a frame of zstd of the packed text, without its magic, in base64, with the dictionary of
	// that number.
	Prefix = "zstd2:"
	// before is the prefix with the first dictionary, of a text that was not packed.
	before = "zstd1:"
	// mark begins compressed bytes. No text that is given to Bytes begins so.
	mark = '\x00'
	// packed follows the mark where the frame is of a packed text, and without its magic.
	packed = '\x02'
	// magic begins every frame.
	magic = "\x28\xb5\x2f\xfd"
	// near follows the mark in bytes from before texts were packed, where here stood for the key.
	near = '\x01'

	// shortest is the length below which too little is gained for the time it takes.
	shortest = 64

	// MaxLength bounds what is decompressed, in bytes: a small frame can stand for a text that fills the memory.
	MaxLength = 16 << 20
)

var (
	encoder = working(zstd.NewWriter(nil, zstd.WithEncoderDictRaw(2, dictionary2), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true)))
	decoder = working(zstd.NewReader(nil, zstd.WithDecoderDictRaw(1, dictionary1), zstd.WithDecoderDictRaw(2, dictionary2),
		zstd.WithDecoderMaxMemory(MaxLength), zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(0)))
)

// working is for what fails only when its options are wrong.
func working[T any](v T, err error) T {
	if err != nil {
		panic("compress: " + err.Error())
	}
	return v
}

// frame returns the frame of a packed text.
func frame(packed []byte) []byte { return encoder.EncodeAll(packed, nil)[len(magic):] }

// Text returns a text that FromText turns back: the compressed one in base64, or the text itself where that is shorter. The
// text must not begin as a compressed one does.
func Text(text string) string {
	if len(text) < shortest {
		return text
	}
	f := frame(pack(text, ""))
	if len(Prefix)+base64.RawStdEncoding.EncodedLen(len(f)) >= len(text) {
		return text
	}
	return Prefix + base64.RawStdEncoding.EncodeToString(f)
}

// Begins reports whether a text begins as a compressed one does.
func Begins(text string) bool {
	return strings.HasPrefix(text, Prefix) || strings.HasPrefix(text, before)
}

// FromText returns what Text was given. An error has no text.
func FromText(stored string) (string, error) {
	if !Begins(stored) {
		return stored, nil
	}
	f, err := base64.RawStdEncoding.DecodeString(stored[len(Prefix):])
	if err != nil {
		return "", fmt.Errorf("it is no compressed text: %w", err)
	}
	if strings.HasPrefix(stored, before) {
		return decompress(f)
	}
	return fromPacked(f, "")
}

// Bytes returns bytes that FromBytes turns back with the same key: compressed, or the text's own where those are fewer. The
// text must not begin with NUL. A key is what is kept beside the value, and so need not stand in it; "" for none.
func Bytes(text, key string) []byte {
	if len(text) < shortest {
		return []byte(text)
	}
	f := frame(pack(text, key))
	if 2+len(f) >= len(text) {
		return []byte(text)
	}
	return slices.Concat([]byte{mark, packed}, f)
}

// Compressed reports whether Bytes made the text shorter.
func Compressed(b []byte) bool { return len(b) > 0 && b[0] == mark }

// FromBytes returns what Bytes was given. An error has no text.
func FromBytes(b []byte, key string) (string, error) {
	switch {
	case !Compressed(b):
		return string(b), nil
	case len(b) > 1 && b[1] == packed:
		return fromPacked(b[2:], key)
	case len(b) > 1 && b[1] == near:
		return fromNear(b[2:], key)
	}
	return decompress(b[1:])
}

func fromPacked(frame []byte, key string) (string, error) {
	text, err := decompress(slices.Concat([]byte(magic), frame))
	if err != nil {
		return "", err
	}
	return unpack(text, key)
}

func fromNear(frame []byte, key string) (string, error) {
	text, err := decompress(frame)
	if err != nil {
		return "", err
	}
	if n := len(text) + strings.Count(text, string(here))*(len(key)-1); n > MaxLength {
		return "", tooLong(n)
	}
	return strings.ReplaceAll(text, string(here), key), nil
}

func tooLong(n int) error { return fmt.Errorf("it has %d bytes, and %d are allowed", n, MaxLength) }

func decompress(frame []byte) (string, error) {
	text, err := decoder.DecodeAll(frame, nil)
	if err != nil {
		return "", fmt.Errorf("it can't be decompressed: %w", err)
	}
	return string(text), nil
}
