//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Separate puts a program that is not started yet into a process group of its
// own, which its children inherit: the way to end them all.
func Separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// Terminate asks the program, and everything that it started and that has not
// left its process group, to end.
func Terminate(cmd *exec.Cmd) error { return signal(cmd, syscall.SIGTERM) }

// Kill ends the program and everything that it started and that has not left
// its process group. It returns os.ErrProcessDone when nothing of it is left.
func Kill(cmd *exec.Cmd) error { return signal(cmd, syscall.SIGKILL) }

func signal(cmd *exec.Cmd, s syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
