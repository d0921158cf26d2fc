//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Separate puts an unstarted program into a new process group, which its children inherit, so that
// all can be killed. On Linux it also adds a variable to cmd.Env, by which Kill finds processes
// that left the group.
func Separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	markProcess(cmd)
}

// Terminate asks the program, and every process it started that is still in its process group, to
// end.
func Terminate(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGTERM) }

// Kill kills the program and every process it started that is still in its process group. On Linux
// it also kills processes that left the group, except those that have both another parent and
// another environment. It returns os.ErrProcessDone if the group was empty.
func Kill(cmd *exec.Cmd) error {
	strays := stopTree(cmd)
	err := signalGroup(cmd, syscall.SIGKILL)
	killStrays(strays)
	return err
}

func signalGroup(cmd *exec.Cmd, s syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
