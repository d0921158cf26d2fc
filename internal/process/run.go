package process

import "os/exec"

// RunTied runs a program that Separate was called for to its end, and then kills what it
// has left running. On Linux the program ends with the runtime, also when that is killed:
// what nobody waits for does not go on.
func RunTied(cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { // StartTied ties it to its thread
		err := StartTied(cmd)
		if err == nil {
			err = Wait(cmd)
		}
		ended <- err
	}()
	return <-ended
}

// Wait waits until a program that Separate was called for exits, and then kills what it
// has left running.
func Wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	_ = Kill(cmd) // the error reports that nothing was left
	return err
}
