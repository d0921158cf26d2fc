//go:build unix

package command

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// separate puts the program into a process group of its own, which its children
// inherit: the way to end them all.
func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// kill ends the program and everything that it started and that has not left
// its process group.
func kill(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
