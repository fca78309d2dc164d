package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// tools are the server's programs, and the user they run as.
type tools struct {
	initdb, postgres string
	as               *syscall.Credential // nil: this process's own user
}

// places are where systems put the programs that are not on the PATH.
var places = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin"}

var errMissing = errors.New("the programs initdb and postgres are not installed: run `apt-get install postgresql` " +
	"(Debian, Ubuntu; `make postgres` does it), `dnf install postgresql-server` or `brew install postgresql`")

func findTools() (tools, error) {
	t := tools{}
	if path, err := exec.LookPath("initdb"); err == nil {
		t.initdb = path
	}
	for _, pattern := range places {
		found, err := filepath.Glob(filepath.Join(pattern, "initdb"))
		if err != nil {
			return t, err
		}
		if t.initdb == "" && len(found) > 0 {
			t.initdb = found[len(found)-1] // the newest
		}
	}
	if t.initdb == "" {
		return t, errMissing
	}
	real, err := filepath.EvalSymlinks(t.initdb)
	if err != nil {
		return t, err
	}
	t.postgres = filepath.Join(filepath.Dir(real), "postgres")
	if _, err := os.Stat(t.postgres); err != nil {
		return t, fmt.Errorf("%w (%w)", errMissing, err)
	}
	if os.Geteuid() != 0 {
		return t, nil
	}
	t.as, err = unprivileged()
	return t, err
}

// unprivileged is a user that PostgreSQL, which refuses to run as root, can run as.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			continue
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody: add one")
}

func (t tools) attr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Credential: t.as} }

// own gives a directory to the server's user.
func (t tools) own(dir string) error {
	if t.as == nil {
		return nil
	}
	return os.Chown(dir, int(t.as.Uid), int(t.as.Gid))
}
