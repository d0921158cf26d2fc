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
			err = cmd.Wait()
		}
		ended <- err
	}()
	err := <-ended
	if cmd.Process != nil {
		_ = Kill(cmd) // it reports that there was nothing left
	}
	return err
}
