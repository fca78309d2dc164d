package permission

// CanonicalArgs writes the arguments of a call so that equal ones are the same text: names sorted, numbers by value,
// strings by their characters, no blanks. ok is false for arguments that break the rules of decoding, such as a name
// that comes twice; those equal nothing.
func CanonicalArgs(args []byte) (canon string, ok bool) {
	a := decodeArgs(args)
	if a.fault != "" {
		return "", false
	}
	return canonical(a.members), true
}
