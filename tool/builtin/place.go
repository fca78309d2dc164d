package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"holdpoint/tool"
)

// maxPath bounds a path, as Linux does.
const maxPath = 4096

// place is where a path led: a directory that is held open, and a name in it that is no symlink. What is done
// there can't be led astray by directories and links that change meanwhile.
//
// Links are resolved before the directory is opened, and once more after it, so a change in between is noticed.
// One thing is left: between the caller's decision about the path and locate, a link may come to point to
// another place, in the workspace or, for a call whose outside paths are allowed, outside it.
type place struct {
	dir   *os.Root
	base  string
	path  string // absolute and resolved
	shown string // for messages
}

func (p *place) close() { _ = p.dir.Close() }

// locate finds the place of a path of the call. Inside the workspace it stays there, whatever links say;
// outside it goes only where the caller has found a rule. With create, missing parents are made.
func locate(call tool.Call, home, path string, create bool) (*place, error) {
	abs, err := absolute(call.Workspace, home, path)
	if err != nil {
		return nil, err
	}
	workspace, err := filepath.EvalSymlinks(call.Workspace)
	if err != nil {
		return nil, fmt.Errorf("the workspace can't be reached: %w", err)
	}
	resolved, err := resolve(abs)
	if err != nil {
		return nil, pathError(show(path), err)
	}
	top, rel := workspace, ""
	if rel, err = filepath.Rel(workspace, resolved); err != nil || !filepath.IsLocal(rel) {
		if !call.Outside {
			return nil, refuse("%s leads out of the workspace, and no rule allows that: use a path inside %s.",
				show(path), call.Workspace)
		}
		top = string(filepath.Separator)
		rel = strings.TrimPrefix(resolved, top)
		if rel == "" {
			rel = "."
		}
	}
	p := &place{path: resolved, shown: show(path), base: filepath.Base(rel)}
	if p.dir, err = openDir(top, filepath.Dir(rel), create); err != nil {
		return nil, pathError(show(path), err)
	}
	if err := p.check(abs); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// absolute is the path with "~/" expanded, made absolute and cleaned, in the way it is when it is decided on.
func absolute(workspace, home, path string) (string, error) {
	switch {
	case !filepath.IsAbs(workspace):
		return "", fmt.Errorf("file tools need an absolute workspace, and got %q", workspace)
	case path == "":
		return "", refuse("path is empty: name a file.")
	case len(path) > maxPath:
		return "", refuse("path has %d bytes, and at most %d are possible.", len(path), maxPath)
	case strings.IndexByte(path, 0) >= 0:
		return "", refuse("path holds a NUL character, which no file name has.")
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok || path == "~" {
		if !filepath.IsAbs(home) {
			return "", refuse("%s can't be used: there is no home directory here. Give an absolute path.", show(path))
		}
		if path == "~" {
			rest = ""
		}
		return filepath.Join(home, rest), nil
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(workspace, path), nil
}

// resolve follows all symlinks. Of a file that does not exist, those of the nearest existing parent.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", refuse("%s is a symlink to something that does not exist.", show(path))
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	if parent, err = resolve(parent); err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}

// openDir opens a directory below top.
func openDir(top, rel string, create bool) (*os.Root, error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	if rel == "." {
		return root, nil
	}
	defer root.Close()
	if create {
		if err := root.MkdirAll(rel, 0o777); err != nil {
			return nil, err
		}
	}
	return root.OpenRoot(rel)
}

// check makes sure that the open directory is the one that the path leads to.
func (p *place) check(abs string) error {
	again, err := resolve(abs)
	if err != nil {
		return pathError(p.shown, err)
	}
	held, err := p.dir.Stat(".")
	if err != nil {
		return pathError(p.shown, err)
	}
	there, err := os.Lstat(filepath.Dir(p.path))
	if p.base == "." {
		there, err = os.Lstat(p.path)
	}
	if err != nil || again != p.path || !os.SameFile(held, there) {
		return refuse("%s changed while it was opened: try again.", p.shown)
	}
	return nil
}

// lstat tells what is there: a regular file or a directory. Everything else is refused: a pipe or a device may
// block, or act, as soon as it is opened.
func (p *place) lstat() (fs.FileInfo, error) {
	info, err := p.dir.Lstat(p.base)
	if err != nil {
		return nil, pathError(p.shown, err)
	}
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode.IsDir():
		return info, nil
	case mode&fs.ModeSymlink != 0:
		return nil, refuse("%s changed while it was opened: try again.", p.shown)
	default:
		return nil, refuse("%s is %s, not a file: it is left alone.", p.shown, kind(mode))
	}
}

// open opens it for reading, without ever waiting for a writer.
func (p *place) open() (*os.File, fs.FileInfo, error) {
	before, err := p.lstat()
	if err != nil {
		return nil, nil, err
	}
	f, err := p.dir.OpenFile(p.base, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, pathError(p.shown, err)
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = refuse("%s changed while it was opened: try again.", p.shown)
	}
	if err == nil && showsProcesses(f) {
		err = refuse("%s shows this worker's own processes and is not read.", p.shown)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	default:
		return "a special file"
	}
}
