//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Separate puts a program that is not started yet into a new process group, which its children
// inherit, so that all can be killed. On Linux it also adds a variable to cmd.Env, by which Kill
// finds processes that left the group.
func Separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	markProcess(cmd)
}

// Terminate asks the program, and everything that it started and that has not
// left its process group, to end.
func Terminate(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGTERM) }

// Kill ends the program and everything that it started and that has not left
// its process group. On Linux it also ends what has left the group, unless that
// has both another parent by now and another environment. It returns
// os.ErrProcessDone when nothing was left in the group.
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
