package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// attempt is a server being reached and its tools being listed. It has its time, for a program may have to be fetched before
// it runs; whoever needs the server waits for a part of that time only, counted from when the attempt began, and goes on
// without it.
type attempt struct {
	begun time.Time
	done  chan struct{}
	err   error // once done
}

// refresh lists the tools, unless that has just been done.
func (s *Server) refresh(ctx context.Context) error {
	at := s.reach()
	patience := time.NewTimer(time.Until(at.begun.Add(s.cfg.StartTimeout)))
	defer patience.Stop()
	select {
	case <-at.done:
		return at.err
	case <-ctx.Done():
		return s.unreachable(ctx.Err())
	case <-patience.C:
		return s.unreachable(fmt.Errorf("it has not answered within %s (start_timeout)", s.cfg.StartTimeout))
	}
}

// reach begins an attempt, or joins the one that is under way.
func (s *Server) reach() *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trying == nil {
		at := &attempt{begun: time.Now(), done: make(chan struct{})}
		s.trying = at
		go func() {
			at.err = s.listSoon()
			s.mu.Lock()
			s.trying = nil
			s.mu.Unlock()
			close(at.done)
		}()
	}
	return s.trying
}

func (s *Server) listSoon() error {
	ctx, cancel := context.WithTimeout(s.ctx, startPatience+listPatience)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return s.unreachable(ctx.Err())
	}
	var err error
	for range 2 { // a server that died unnoticed is noticed by the first, and started by the second
		if err = s.listNow(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}

// live returns a connection to make a call on.
func (s *Server) live(ctx context.Context) (*connection, error) {
	for range 2 { // it may end just when it was reached
		s.mu.Lock()
		c := s.conn
		s.mu.Unlock()
		if c != nil && !c.dead() {
			return c, nil
		}
		if err := s.refresh(ctx); err != nil {
			return nil, err
		}
	}
	return nil, s.unreachable(errors.New("it ends as soon as it is started"))
}
