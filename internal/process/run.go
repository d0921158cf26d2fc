package process

import "os/exec"

// RunTied runs a program that was passed to Separate, waits for it to end, and then kills its
// remaining processes. On Linux the program ends when the runtime ends or is killed, because
// nothing would wait for it.
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

// Wait waits until a program that was passed to Separate exits, and then kills its remaining
// processes.
func Wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	_ = Kill(cmd) // an error means that nothing was left
	return err
}
