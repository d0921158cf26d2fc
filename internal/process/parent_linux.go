package process

import (
	"os/exec"
	"runtime"
	"syscall"
)

// StartTied starts a program that was passed to Separate, such that it ends with the runtime,
// however that ends. The calling goroutine must then call cmd.Wait; it is locked to its thread,
// because the system ties the program to the thread that started it.
func StartTied(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return cmd.Start()
}
