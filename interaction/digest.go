package interaction

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
)

// Digest is what an approval is bound to: the tool, its arguments, and the hash of what an edit is based on ("" where
// there is nothing). Each part goes in with its length, so no two triples give the same bytes.
//
// Arguments go in as encoding/json writes them when they travel in a json.RawMessage: without space between
// tokens, with <, > and & escaped. So the digest survives storing and sending; any other difference changes it,
// the order of keys and the spelling of numbers included. Arguments that are no JSON go in as they are.
func Digest(toolName string, args []byte, base string) string {
	if normal, err := json.Marshal(json.RawMessage(args)); err == nil && len(args) > 0 {
		args = normal
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(toolName), args, []byte(base)} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
