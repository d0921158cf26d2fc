package process

import (
	"os/exec"
	"runtime"
	"syscall"
)

// StartTied starts a program that Separate was called for, such that it ends with the
// runtime, however that ends. The goroutine must call it, and then cmd.Wait, and is tied
// to its thread: the system ties the program to the thread that started it.
func StartTied(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return cmd.Start()
}
