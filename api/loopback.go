package api

// LoopbackHost reports whether a Host header names this machine's loopback, by a name that no DNS server answers for.
// A bridge that listens on loopback answers to no other.
func LoopbackHost(host string) bool { return loopbackHost(host) }
