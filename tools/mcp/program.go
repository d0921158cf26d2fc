package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsonlines"
	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/mend"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// defaultWriteTime is how long a program may leave its input unread before
	// it counts as dead.
	defaultWriteTime = 10 * time.Second
	// askTime and killTime are how long after its input was closed a program is terminated and
	// killed.
	askTime  = 500 * time.Millisecond
	killTime = 2 * time.Second
	// pipeDelay is how long to wait for error output after the program has ended while a process it
	// started still holds the pipe.
	pipeDelay = time.Second
)

// errUnread reports that a program does not read its input.
var errUnread = errors.New("the program does not read its input")

// program carries a session over the standard input and output of a program.
type program struct {
	config *config
	// dir is the working directory.
	dir string
	// writeTime is how long the program may leave its input unread.
	writeTime time.Duration

	mu sync.Mutex
	// cmd is nil until the program is started; stopped prevents a later start.
	cmd     *exec.Cmd
	stopped bool
	input   *os.File
	output  *os.File
	// stderr logs the error output. Calls of all tenants share the program, so no caller may see
	// the output.
	stderr *process.LineWriter
	// warn logs that the program writes text to its standard output; warned makes that happen once.
	warn   func(line string)
	warned sync.Once
	// unread reports whether the program has left its input unread for too long.
	unread bool
	// exited is closed when the program and all its processes have ended; err then says how it
	// ended.
	exited chan struct{}
	err    error
}

// Connect starts the program.
func (p *program) Connect(ctx context.Context) (mcp.Connection, error) {
	if err := p.startProcess(); err != nil {
		return nil, err
	}
	messages := struct {
		io.Reader
		io.Closer
	}{jsonlines.NewReader(p.output, mend.MaxMessage, p.noteText), p.output}
	transport := mcp.IOTransport{Reader: mend.Stream(messages, false, ""), Writer: &input{p.input, p}, MaxLineLength: mend.MaxMessage}
	connection, err := transport.Connect(ctx)
	return &boundedConnection{Connection: connection}, err
}

// boundedConnection bounds the requests of a program that are being answered.
type boundedConnection struct {
	mcp.Connection
	open atomic.Int32
}

// Read returns the next message. It fails if too many requests are open.
func (c *boundedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && c.open.Add(1) > maxAnswers {
		return nil, errFlood
	}
	return m, err
}

// Write sends a message.
func (c *boundedConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	if _, ok := m.(*jsonrpc.Response); ok {
		defer c.open.Add(-1)
	}
	return c.Connection.Write(ctx, m)
}

// noteText logs a line of the standard output that is not a message: first as a warning, and then
// like the error output.
func (p *program) noteText(line string) {
	p.warned.Do(func() { p.warn(line) })
	_, _ = p.stderr.Write([]byte(line + "\n")) // it never fails
}

// startProcess starts the program.
func (p *program) startProcess() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return ErrClosed
	}
	path, err := process.Find(p.config.Command[0], p.config.Dir, p.config.Env)
	if err != nil {
		return err
	}
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return err
	}
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, theirIn.Close(), ourIn.Close())
	}
	cmd := exec.Command(path, p.config.Command[1:]...) //nolint:gosec // the configuration names the program
	cmd.Args[0] = p.config.Command[0]
	cmd.Dir = p.dir
	cmd.Env = process.Environment(p.config.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, p.stderr
	cmd.WaitDelay = pipeDelay
	process.Separate(cmd)
	err = cmd.Start()
	_, _ = theirIn.Close(), theirOut.Close()
	if err != nil {
		_, _ = ourIn.Close(), ourOut.Close()
		return process.Refused(p.config.Command[0], p.dir, err)
	}
	p.cmd, p.input, p.output, p.exited = cmd, ourIn, ourOut, make(chan struct{})
	go p.reapProcess()
	return nil
}

// reapProcess waits for the program to exit, which stop ensures, and ends the processes that it
// left running, because they hold the output open.
func (p *program) reapProcess() {
	err := process.Wait(p.cmd)
	p.stderr.Flush()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	p.err = err
	close(p.exited)
}

// stop ends the program by closing its input, which servers understand, or else by force.
func (p *program) stop() {
	p.mu.Lock()
	p.stopped = true
	cmd := p.cmd
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = p.input.Close()
	ask := time.AfterFunc(askTime, func() { _ = process.Terminate(cmd) })
	defer ask.Stop()
	end := time.AfterFunc(killTime, func() { _ = process.Kill(cmd) })
	defer end.Stop()
	<-p.exited
}

// giveUp ends the session with a program that does not read its input: part of a message may have
// been written, so no other can follow. The end of the output ends the session and the waiting
// calls.
func (p *program) giveUp() {
	p.mu.Lock()
	p.unread = true
	p.mu.Unlock()
	_ = p.output.Close()
}

// explainError adds to an error how the program ended.
func (p *program) explainError(err error) error {
	p.mu.Lock()
	started, unread := p.cmd != nil, p.unread
	p.mu.Unlock()
	if !started {
		return err
	}
	if unread {
		err = errUnread
	}
	select {
	case <-p.exited:
	default:
		return err
	}
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("%w; the program ended: %s", err, exit.ProcessState)
	}
	return err
}

// input is the input of a program. If the program does not read it, writing fails instead of
// blocking forever.
type input struct {
	*os.File
	program *program
}

// Write writes a message.
func (w *input) Write(data []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(w.program.writeTime)); err != nil {
		return 0, err
	}
	n, err := w.File.Write(data)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.program.giveUp()
		return n, errUnread
	}
	return n, err
}
