package pool

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/internal/process"
)

// pipeDelay is how long to wait for output after the program has ended while its child processes
// still hold the pipe.
const pipeDelay = time.Second

// inherited are the runtime's variables that a provider gets besides those that every program gets.
var inherited = []string{"TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// child is a provider process that was started here.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	exited chan struct{}
	// err is its exit error, available once exited is closed.
	err error
}

// startChild starts a provider's program, which must listen on one socket and call the host back on
// another.
func (s *Settings) startChild(socket, hostSocket string) (*child, error) {
	path, err := process.Find(s.Command[0], s.Dir, s.Env)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	for name, value := range s.Env {
		env[name] = value
	}
	env["GESTALT_PLUGIN_SOCKET"], env["GESTALT_AGENT_HOST_SOCKET"] = socket, hostSocket
	env["GESTALT_AGENT_MANAGER_SOCKET"] = hostSocket
	env["GESTALT_PLUGIN_NAME"], env["GESTALT_PLUGIN_PARENT_PID"] = s.Name, strconv.Itoa(os.Getpid())
	cmd := exec.Command(path, s.Command[1:]...) //nolint:gosec // the configuration names the program
	cmd.Args[0], cmd.Dir, cmd.Env = s.Command[0], s.Dir, process.Environment(env)
	cmd.WaitDelay = pipeDelay
	process.Separate(cmd)
	stdin, err := cmd.StdinPipe() // its end tells the provider that the runtime ended
	if err != nil {
		return nil, fmt.Errorf("start the provider: %w", err)
	}
	logs := process.NewLineWriter(func(line string) { s.Logger.Info("provider output", "line", line) })
	cmd.Stdout, cmd.Stderr = logs, logs
	c := &child{cmd: cmd, stdin: stdin, exited: make(chan struct{})}
	started := make(chan error, 1)
	go c.runProcess(started, logs)
	if err := <-started; err != nil {
		return nil, process.Refused(s.Command[0], s.Dir, err)
	}
	return c, nil
}

// runProcess starts the program and waits for its end. It kills processes that were left running.
func (c *child) runProcess(started chan<- error, logs *process.LineWriter) {
	err := process.StartTied(c.cmd)
	started <- err
	if err != nil {
		_ = c.stdin.Close()
		return
	}
	c.err = process.Wait(c.cmd)
	logs.Flush()
	close(c.exited)
}

// stop asks the program to end, and kills it if it does not.
func (c *child) stop() {
	_ = process.Terminate(c.cmd)
	end := time.AfterFunc(stopPatience, func() { _ = process.Kill(c.cmd) })
	defer end.Stop()
	<-c.exited
}

// kill ends the program immediately.
func (c *child) kill() {
	_ = process.Kill(c.cmd)
	<-c.exited
}
