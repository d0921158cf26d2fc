package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/agentruntime/agentruntime/internal/process"
)

// parentMode makes the test program the parent of a program that inspects it: hidden or not.
const parentMode = "PROCESS_TEST_PARENT"

// TestAProgramCannotReadAHiddenParent runs a program of the same user, without root privileges,
// that reads its parent's environment.
func TestAProgramCannotReadAHiddenParent(t *testing.T) {
	t.Parallel()
	if mode := os.Getenv(parentMode); mode != "" {
		if mode == "hidden" {
			if err := process.HideMemory(); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", "tr '\\0' '\\n' </proc/$PPID/environ").CombinedOutput()
		fmt.Printf("%s\n%v\n", out, err)
		return
	}
	for mode, readable := range map[string]bool{"hidden": false, "shown": true} {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$")
		cmd.Env = []string{parentMode + "=" + mode, "API_KEY=s3cret-key", "PATH=" + os.Getenv("PATH")}
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			cmd.Dir = "/"
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if strings.Contains(string(out), "s3cret-key") != readable {
			t.Errorf("%s: the program reads %s", mode, out)
		}
	}
}
