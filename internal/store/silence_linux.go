package store

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitSilence gives up a connection on which what was sent is not acknowledged; keep-alives only find out about
// one on which nothing is sent.
func limitSilence(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var err error
	control := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silenceTimeout.Milliseconds()))
	})
	if control != nil {
		return control
	}
	return err
}
