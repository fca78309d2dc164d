// Package mongotest gives tests a real server that speaks MongoDB's protocol: FerretDB on SQLite files, built once by
// tools/ferretdb/build into bin/ferretdb.
package mongotest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// server is what all tests of one test binary share; it ends with the process, when its standard input does.
var server = sync.OnceValues(start)

var databases atomic.Int64

// Database returns the URI of the server and the name of a database that no other test has.
func Database(t testing.TB) (uri, name string) {
	t.Helper()
	p, err := server()
	if err != nil {
		t.Fatalf("no server that speaks MongoDB's protocol for the tests: %v", err)
	}
	return p.uri, fmt.Sprintf("test_%d", databases.Add(1))
}

// process is a running server. Its standard input is open until this process ends; a pipe that nobody refers to would be
// closed.
type process struct {
	uri   string
	stdin io.Closer
}

func start() (p process, err error) {
	binary, err := find()
	if err != nil {
		return p, err
	}
	dir, err := os.MkdirTemp("", "holdpoint-ferretdb-")
	if err != nil {
		return p, err
	}
	// The shell removes the data when the server has ended, however this process did.
	cmd := exec.Command("sh", "-c", `"$0" -data "$1"; rm -rf "$1"`, binary, dir)
	cmd.Stderr = os.Stderr
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return p, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return p, err
	}
	if err := cmd.Start(); err != nil {
		return p, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	p.uri = strings.TrimSpace(line)
	return p, err
}

// find looks for bin/ferretdb at the root of the module.
func find() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("there is no go.mod above")
		}
		dir = parent
	}
	binary := filepath.Join(dir, "bin", "ferretdb")
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("%s is not there: build it by `make ferretdb`", binary)
	}
	return binary, nil
}
