package pool

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/process"
)

const (
	// maxLine bounds a line of a provider's output in the log, in bytes.
	maxLine = 8 << 10
	// pipeDelay is how long the output is waited for when the program has ended but
	// something that it started still holds it.
	pipeDelay = time.Second
)

// inherited are the variables that a provider gets of the runtime's own, besides those
// of every program.
var inherited = []string{"TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// child is a provider that was started here.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	exited chan struct{}
	// err is how it ended; it is there once exited is closed.
	err error
}

// startChild starts the program of a provider, which is to listen on a socket, and to
// call the host back on another one.
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
	env["GESTALT_PLUGIN_NAME"], env["GESTALT_PLUGIN_PARENT_PID"] = s.Name, strconv.Itoa(os.Getpid())
	cmd := exec.Command(path, s.Command[1:]...) //nolint:gosec // the configuration names the program
	cmd.Args[0], cmd.Dir, cmd.Env = s.Command[0], s.Dir, process.Environment(env)
	cmd.WaitDelay = pipeDelay
	process.Separate(cmd)
	stdin, err := cmd.StdinPipe() // it ends with the runtime, which tells the provider
	if err != nil {
		return nil, fmt.Errorf("start the provider: %w", err)
	}
	logs := &logWriter{logger: s.Logger}
	cmd.Stdout, cmd.Stderr = logs, logs
	c := &child{cmd: cmd, stdin: stdin, exited: make(chan struct{})}
	started := make(chan error, 1)
	go c.runProcess(started, logs)
	if err := <-started; err != nil {
		return nil, process.Refused(s.Command[0], s.Dir, err)
	}
	return c, nil
}

// runProcess starts the program and waits for its end. It ends the processes that were
// left running.
func (c *child) runProcess(started chan<- error, logs *logWriter) {
	err := process.StartTied(c.cmd)
	started <- err
	if err != nil {
		_ = c.stdin.Close()
		return
	}
	c.err = process.Wait(c.cmd)
	logs.flush()
	close(c.exited)
}

// stop asks the program to end, and ends it if it does not.
func (c *child) stop() {
	_ = process.Terminate(c.cmd)
	end := time.AfterFunc(stopPatience, func() { _ = process.Kill(c.cmd) })
	defer end.Stop()
	<-c.exited
}

// kill ends the program at once.
func (c *child) kill() {
	_ = process.Kill(c.cmd)
	<-c.exited
}

// logWriter writes the lines of a provider's output to the log.
type logWriter struct {
	logger *slog.Logger
	mu     sync.Mutex
	part   []byte
}

// Write logs the lines that are complete. It never fails.
func (w *logWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.part = append(w.part, p...)
	for {
		advance, line, err := bufio.ScanLines(w.part, false)
		if err != nil || advance == 0 {
			break
		}
		w.logLine(line)
		w.part = w.part[advance:]
	}
	if len(w.part) > maxLine {
		w.logLine(w.part)
		w.part = nil
	}
	return len(p), nil
}

// flush logs what is left.
func (w *logWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.part) > 0 {
		w.logLine(w.part)
		w.part = nil
	}
}

func (w *logWriter) logLine(line []byte) {
	w.logger.Info("provider output", "line", string(line[:min(len(line), maxLine)]))
}
