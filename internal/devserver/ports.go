package devserver

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// host is where a dev server listens: it has no authentication, so nowhere but on this machine.
const host = "127.0.0.1"

func loopback(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// freePorts returns different ports that nobody listened on a moment ago. Another process may take one before
// the server does; Start then tries others.
func freePorts(n int) (ports []int, err error) {
	var open []net.Listener
	defer func() {
		for _, l := range open {
			err = errors.Join(err, l.Close())
		}
	}()
	for range n {
		l, err := net.Listen("tcp", loopback(0))
		if err != nil {
			return nil, fmt.Errorf("there is no free port on %s for the Temporal dev server: %w", host, err)
		}
		open = append(open, l)
		addr, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("a TCP listener has the address %s, which is none", l.Addr())
		}
		ports = append(ports, addr.Port)
	}
	return ports, nil
}
