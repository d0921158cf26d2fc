package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// process is a worker process as seen by the harness.
type process struct {
	cmd *exec.Cmd
	// ready is closed when it works, gone when it has exited and all its output was read.
	ready, gone chan struct{}
	// began receives the time of its first progress on a turn.
	began chan time.Time
	// worked counts progress steps; news receives each turn.
	worked atomic.Int64
	news   func(p *process, turnID string)
	errors bytes.Buffer

	mu      sync.Mutex
	in      io.WriteCloser
	asked   int64
	pending map[int64]chan line
}

var _ gateway = (*process)(nil)

// errGone reports that a worker process exited before it answered.
var errGone = errors.New("the worker process is gone")

// launch starts a worker process.
func launch(p *place, news func(p *process, turnID string)) (*process, error) {
	settings, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	w := &process{
		cmd: exec.Command(os.Args[0]), news: news,
		ready: make(chan struct{}), gone: make(chan struct{}), began: make(chan time.Time, 1), pending: make(map[int64]chan line),
	}
	w.cmd.Env = append(os.Environ(), workerVariable+"="+string(settings))
	w.cmd.Stderr = &w.errors
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go w.hear(out)
	return w, nil
}

// hear reads the process's output until it ends. The last line of a killed process may be
// truncated.
func (w *process) hear(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			break
		}
		w.take(l)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = w.cmd.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, answer := range w.pending {
		close(answer)
	}
	w.pending = nil
	close(w.gone)
}

func (w *process) take(l line) {
	switch {
	case l.Ready:
		close(w.ready)
	case l.Working != "":
		if w.worked.Add(1) == 1 {
			w.began <- time.Now()
		}
		if w.news != nil {
			w.news(w, l.Working)
		}
	default:
		w.mu.Lock()
		answer := w.pending[l.ID]
		if l.Done {
			delete(w.pending, l.ID)
		}
		w.mu.Unlock()
		if answer != nil {
			answer <- l
		}
		if answer != nil && l.Done {
			close(answer)
		}
	}
}

// ask sends a request and returns the channel of its lines. It is closed after the last line.
func (w *process) ask(r request) (<-chan line, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending == nil {
		return nil, errGone
	}
	w.asked++
	r.ID = w.asked
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	answer := make(chan line, 64)
	w.pending[r.ID] = answer
	if _, err := w.in.Write(append(data, '\n')); err != nil {
		delete(w.pending, r.ID)
		return nil, errGone
	}
	return answer, nil
}

func (w *process) do(ctx context.Context, r request) (store.Status, error) {
	answer, err := w.ask(r)
	if err != nil {
		return "", err
	}
	select {
	case l, ok := <-answer:
		switch {
		case !ok:
			return "", errGone
		case l.Error != "":
			return "", errors.New(l.Error)
		}
		return l.Status, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (w *process) follow(ctx context.Context, turnID string, after uint64) iter.Seq2[sighting, error] {
	return func(yield func(sighting, error) bool) {
		answer, err := w.ask(request{Do: followTurn, Turn: turnID, After: after})
		defer drain(answer)
		for err == nil {
			select {
			case l, ok := <-answer:
				switch {
				case !ok:
					err = errGone
				case l.Error != "":
					err = errors.New(l.Error)
				case l.Done:
					return
				case !yield(*l.Event, nil):
					return
				}
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		yield(sighting{}, err)
	}
}

// drain discards output that no caller waits for.
func drain(answer <-chan line) {
	if answer == nil {
		return
	}
	go func() {
		for range answer {
		}
	}()
}

// over reports whether the process has exited.
func (w *process) over() bool {
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

func (w *process) signal(s syscall.Signal) { _ = w.cmd.Process.Signal(s) }

// kill kills the process like the kernel would and returns when it has exited.
func (w *process) kill() {
	w.signal(syscall.SIGKILL)
	<-w.gone
}

// end lets the process exit normally.
func (w *process) end() error {
	_ = w.in.Close()
	select {
	case <-w.gone:
	case <-time.After(20 * time.Second):
		w.kill()
		return errors.New("a worker process did not end by itself")
	}
	if state := w.cmd.ProcessState; !state.Success() {
		return fmt.Errorf("a worker process ended with %s: %s", state, w.errors.String())
	}
	return nil
}
