package app_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// door is a stable address of a Temporal server that is started again and again.
type door struct {
	listener net.Listener
	mu       sync.Mutex
	to       string
}

func newDoor(t *testing.T) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	d := &door{listener: l}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go d.pass(c)
		}
	}()
	return d
}

func (d *door) lead(to string) { d.mu.Lock(); defer d.mu.Unlock(); d.to = to }

func (d *door) pass(c net.Conn) {
	defer c.Close()
	d.mu.Lock()
	to := d.to
	d.mu.Unlock()
	s, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer s.Close()
	go func() { _, _ = io.Copy(s, c); _ = s.Close() }()
	_, _ = io.Copy(c, s)
}
