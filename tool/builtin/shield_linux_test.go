package builtin

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdpoint/tool"
)

// ordinary is where an ordinary user can run this binary: root sees through every shield.
func ordinary(t *testing.T) (dir, exe string, attr *syscall.SysProcAttr) {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdpoint-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	exe = filepath.Join(dir, "worker")
	if err := os.WriteFile(exe, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		const nobody = 65534
		attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return dir, exe, attr
}

func TestAShieldedWorkerHidesItsEnvironment(t *testing.T) {
	t.Parallel()
	dir, exe, attr := ordinary(t)
	script := `read -r _ _ _ worker _ < /proc/$PPID/stat; tr '\0' '\n' < /proc/$worker/environ; echo end`
	raw, err := json.Marshal(args{"command": script})
	if err != nil {
		t.Fatal(err)
	}
	call, err := json.Marshal(tool.Call{Args: raw, Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, shielded := range []bool{false, true} {
		cmd := exec.Command(exe)
		cmd.Dir, cmd.SysProcAttr = dir, attr
		cmd.Env = append(os.Environ(), workerVar+"="+string(call))
		if shielded {
			cmd.Env = append(cmd.Env, shieldVar+"=1")
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "end") {
			t.Fatalf("%v: %s", err, out)
		}
		if seen := strings.Contains(string(out), secretValue); seen == shielded {
			t.Errorf("shielded %v, seen %v:\n%s", shielded, seen, out)
		}
	}
}
