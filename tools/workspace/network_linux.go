package workspace

import (
	"os/exec"

	"github.com/agentruntime/agentruntime/internal/sandbox"
)

// isolate starts a program without a network and isolated from other processes.
func isolate(cmd *exec.Cmd) error {
	sandbox.Isolate(cmd)
	return nil
}
