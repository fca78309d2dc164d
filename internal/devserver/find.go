package devserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// NotFoundError says that there is no Temporal CLI, and where it was looked for.
type NotFoundError struct{ Dirs []string }

// Error says how to mend it.
func (e *NotFoundError) Error() string {
	return "the Temporal CLI was not found in " + strings.Join(e.Dirs, ", ") +
		" or on the PATH: run `make build`, which builds it into bin/, or install `temporal`"
}

// Find returns the absolute path of the Temporal CLI: in extraDirs, beside the running executable, in ./bin,
// or on the PATH, whichever has it first. The error is a *NotFoundError.
func Find(extraDirs ...string) (string, error) {
	dirs := append([]string{}, extraDirs...)
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		dirs = append(dirs, filepath.Dir(exe))
	}
	dirs = append(dirs, "bin")
	for _, dir := range dirs {
		path := filepath.Join(dir, binaryName())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && executable(info) {
			return absolute(path)
		}
	}
	if path, err := exec.LookPath(binaryName()); err == nil {
		return absolute(path)
	}
	return "", &NotFoundError{Dirs: dirs}
}

func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("the Temporal CLI at %s: %w", path, err)
	}
	return abs, nil
}

func binaryName() string {
	if runtime.GOOS == "windows" {
		return "temporal.exe"
	}
	return "temporal"
}

// executable reports whether a file may be run. Windows says that by the name.
func executable(info os.FileInfo) bool {
	return runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0
}
