package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Times that bound the life of a server.
const (
	readyTimeout = 2 * time.Minute  // from the start of the process to its first answer
	stopTimeout  = 10 * time.Second // from the request to end to a kill
	portTries    = 5
)

// maxLogBytes is the size above which an old log is set aside at the next start.
const maxLogBytes = 16 << 20

// Options say what to start.
type Options struct {
	// Binary is the Temporal CLI. Defaults to what Find finds.
	Binary string
	// DBFile is the SQLite file that keeps the server's state; its directory is made. "" keeps it in memory.
	DBFile string
	// Namespace is made if it does not exist. Defaults to "default".
	Namespace string
	// LogFile gets the server's output, appended. "" keeps it in a temporary file that Stop removes.
	LogFile string
	// LogLevel is debug, info, warn, error or never. Defaults to "warn".
	LogLevel string
	// UI serves Temporal's web UI on a port of its own.
	UI bool
	// DynamicConfig has server settings by key; values are JSON. They go before Settings.
	DynamicConfig map[string]string
}

// Settings are the server's own settings that every server has here, and that one for production should have: an activity goes
// with the answer to the workflow task that scheduled it to the worker that completed that task. Without it each activity
// makes one more trip through the server before it begins.
func Settings() map[string]string {
	return map[string]string{"system.enableActivityEagerExecution": "true"}
}

func (o Options) withDefaults() (Options, error) {
	if o.Binary == "" {
		path, err := Find()
		if err != nil {
			return o, err
		}
		o.Binary = path
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if o.LogLevel == "" {
		o.LogLevel = "warn"
	}
	settings := Settings()
	maps.Copy(settings, o.DynamicConfig)
	o.DynamicConfig = settings
	for _, path := range []*string{&o.DBFile, &o.LogFile} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return o, fmt.Errorf("the Temporal dev server's file %s: %w", *path, err)
		}
		*path = abs
		if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
			return o, fmt.Errorf("the Temporal dev server's directory can't be made: %w", err)
		}
	}
	return o, nil
}

// Server is a running dev server.
type Server struct {
	address   string
	uiAddress string
	cmd       *exec.Cmd
	lock      *lock
	log       *os.File
	logTemp   bool
	exited    chan struct{}
	exitErr   error // set before exited is closed
	stop      sync.Once
	stopErr   error
}

// Address is the host and port of the frontend, for a Temporal client.
func (s *Server) Address() string { return s.address }

// UIAddress is the URL of Temporal's web UI, "" without one.
func (s *Server) UIAddress() string { return s.uiAddress }

// PID is the id of the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Done is closed when the server's process has ended, asked to or not.
func (s *Server) Done() <-chan struct{} { return s.exited }

// Start starts a server and returns when it answers for its namespace. ctx bounds the start alone: the server
// lives until Stop or until this process ends. An error has the end of the server's log.
func Start(ctx context.Context, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	held, err := acquire(ctx, o.DBFile)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, err := launch(ctx, o, held)
		if err == nil {
			return s, nil
		}
		var taken *portTakenError
		if !errors.As(err, &taken) || try == portTries || ctx.Err() != nil {
			return nil, errors.Join(err, held.release())
		}
	}
}

// launch makes one attempt on ports that were free a moment ago.
func launch(ctx context.Context, o Options, held *lock) (*Server, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	s := &Server{address: loopback(ports[0]), lock: held, logTemp: o.LogFile == "", exited: make(chan struct{})}
	args := arguments(o, ports[0])
	if o.UI {
		args = append(args, "--ui-port", strconv.Itoa(ports[1]))
		s.uiAddress = "http://" + loopback(ports[1])
	} else {
		args = append(args, "--headless")
	}
	if s.log, err = openLog(o.LogFile); err != nil {
		return nil, err
	}
	logStart, err := s.log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, s.closeLog())
	}
	s.cmd = command(o.Binary, args, s.log, held)
	if err := spawn(s.cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("the Temporal CLI %s can't be started: %w", o.Binary, err), s.closeLog())
	}
	go s.wait()
	if err := held.note(s.PID()); err != nil {
		return nil, errors.Join(err, s.end())
	}
	if err := s.ready(ctx, o.Namespace); err != nil {
		all, tail := logTail(s.log, logStart, maxSearchBytes), logTail(s.log, logStart, maxTailBytes)
		return nil, errors.Join(startError(o.Binary, err, all, tail), s.end())
	}
	return s, nil
}

// arguments are the CLI's but for the UI's. The order of settings is fixed, so that two starts can be compared.
func arguments(o Options, port int) []string {
	args := []string{
		"server", "start-dev", "--ip", host, "--port", strconv.Itoa(port),
		"--namespace", o.Namespace, "--log-level", o.LogLevel,
	}
	if o.DBFile != "" {
		args = append(args, "--db-filename", o.DBFile)
	}
	keys := make([]string, 0, len(o.DynamicConfig))
	for k := range o.DynamicConfig {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		args = append(args, "--dynamic-config-value", k+"="+o.DynamicConfig[k])
	}
	return args
}

// command prepares the child: no standard input, output straight to the file (a pipe would end with this
// process), and no more of the environment than it needs. Keys of models are none of its business.
func command(binary string, args []string, log *os.File, held *lock) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TZ", "LANG", "SystemRoot", "TEMP", "USERPROFILE"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	if held.file != nil && runtime.GOOS != "windows" { // which can't inherit it
		cmd.ExtraFiles = []*os.File{held.file}
	}
	return cmd
}

// wait collects the process when it ends.
func (s *Server) wait() {
	s.exitErr = s.cmd.Wait()
	close(s.exited)
}

// Stop ends the server, asking first and killing it after ten seconds, waits until it is gone, and frees the
// database file. It may be called again, and after the server ended by itself.
func (s *Server) Stop() error {
	s.stop.Do(func() { s.stopErr = errors.Join(s.end(), s.lock.release()) })
	return s.stopErr
}

// end ends the process and closes its log; the lock stays.
func (s *Server) end() error {
	interrupt(s.cmd.Process)
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-s.exited:
	case <-timer.C:
		if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return errors.Join(fmt.Errorf("the Temporal dev server (process %d) can't be killed: %w", s.PID(), err), s.closeLog())
		}
		<-s.exited
	}
	return s.closeLog()
}
