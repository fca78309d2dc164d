package builtin

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"holdpoint/tool"
)

// maxFile bounds a file that is edited, compared or replaced with a preview, in bytes.
const maxFile = 10 << 20

// baseAbsent is the base of a file that does not exist.
const baseAbsent = "absent"

// snapshot is what a file was.
type snapshot struct {
	exists  bool
	content []byte
	info    fs.FileInfo
}

// take reads the whole file. A missing one is a snapshot too; a directory is refused.
func (p *place) take(ctx context.Context) (snapshot, error) {
	f, info, err := p.openRegular()
	if isMissing(err) {
		return snapshot{}, nil
	}
	if err != nil {
		return snapshot{}, err
	}
	defer f.Close()
	if info.Size() > maxFile {
		return snapshot{}, refuse("%s has %d bytes, and at most %d can be edited.", p.shown, info.Size(), maxFile)
	}
	content, err := io.ReadAll(io.LimitReader(reader{ctx, f}, maxFile+1))
	if err != nil {
		return snapshot{}, pathError(p.shown, err)
	}
	if len(content) > maxFile {
		return snapshot{}, refuse("%s grew while it was read: try again.", p.shown)
	}
	return snapshot{exists: true, content: content, info: info}, nil
}

func (p *place) openRegular() (*os.File, fs.FileInfo, error) {
	f, info, err := p.open()
	if err == nil && info.IsDir() {
		_ = f.Close()
		err = refuse("%s is a directory: name a file.", p.shown)
	}
	return f, info, err
}

// base is the SHA-256 of the content of the file that the path names, in hex, or baseAbsent. A file that is too
// large to be edited has its size and time of change instead.
func base(ctx context.Context, call tool.Call, home, path string) (string, error) {
	p, err := locate(call, home, path, false)
	if isMissing(err) {
		return baseAbsent, nil
	}
	if err != nil {
		return "", err
	}
	defer p.close()
	f, info, err := p.openRegular()
	if isMissing(err) {
		return baseAbsent, nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Size() > maxFile { // a sparse file of terabytes would keep a run from asking at all
		return fmt.Sprintf("%d bytes, changed %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)), nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(reader{ctx, f}, maxFile+1)); err != nil {
		return "", pathError(p.shown, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// reader stops reading when its context ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// replace puts content in the file's place at once: whoever reads the file meanwhile has all of the old or all
// of the new. The new file has the old one's permissions and, where that is possible, owner; other hard links
// keep the old content. It is refused when the file is not what was any more.
func (p *place) replace(ctx context.Context, content []byte, was snapshot) error {
	temp := ".holdpoint-" + rand.Text() + ".tmp"
	err := p.writeTemp(temp, content, was)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = p.unchanged(was)
	}
	if err == nil {
		err = p.dir.Rename(temp, p.base)
	}
	if err != nil {
		_ = p.dir.Remove(temp)
		return pathError(p.shown, err)
	}
	if d, err := p.dir.Open("."); err == nil {
		_ = d.Sync() // so that a power failure does not undo it; not every file system can
		_ = d.Close()
	}
	return nil
}

func (p *place) writeTemp(name string, content []byte, was snapshot) error {
	mode := fs.FileMode(0o666) // less the umask
	if was.exists {
		mode = 0o600
	}
	f, err := p.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if was.exists {
		keepOwner(f, was.info)
		err = f.Chmod(was.info.Mode().Perm())
	}
	if err == nil {
		_, err = io.Copy(f, bytes.NewReader(content))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// keepOwner gives f the owner of the file it replaces. Only a privileged worker can; for others, the new file
// is theirs.
func keepOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

// unchanged refuses to go on when someone else has written the file since was was taken.
func (p *place) unchanged(was snapshot) error {
	now, err := p.lstat()
	if isMissing(err) && !was.exists {
		return nil
	}
	if err != nil && !isMissing(err) {
		return err
	}
	same := err == nil && was.exists && os.SameFile(now, was.info) &&
		now.Size() == was.info.Size() && now.ModTime().Equal(was.info.ModTime())
	if !same {
		return refuse("%s was changed by someone else meanwhile and is left as it is now: read it again.", p.shown)
	}
	return nil
}

// stat is take without the content, for a file that is replaced whatever it holds.
func (p *place) stat() (snapshot, error) {
	info, err := p.lstat()
	switch {
	case isMissing(err):
		return snapshot{}, nil
	case err != nil:
		return snapshot{}, err
	case info.IsDir():
		return snapshot{}, refuse("%s is a directory: name a file.", p.shown)
	}
	return snapshot{exists: true, info: info}, nil
}
