package a2ajs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/process"
)

// patience is how long a test waits for what should be there in no time.
const patience = 30 * time.Second

// driver is a script that runs in Node.js for as long as a test does. It ends
// when its standard input does.
type driver struct {
	t      testing.TB
	stdin  io.WriteCloser
	stderr *process.Tail

	mu    sync.Mutex
	last  int
	calls map[int]*record
	// happened is what the script tells unasked.
	happened *record
	gone     error // set when the script has ended
}

// line is what a script writes: the answer to a call, or with id 0 something
// that happened.
type line struct {
	ID     int             `json:"id"`
	Event  json.RawMessage `json:"event"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// start runs a script of Install's directory with options that it gets as JSON.
func start(t testing.TB, script string, options any) *driver {
	t.Helper()
	dir := Install(t)
	given, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{t: t, stderr: &process.Tail{Limit: 4 << 10}, calls: map[int]*record{}, happened: newRecord()}
	cmd := exec.Command("node", filepath.Join(dir, script), string(given))
	cmd.Stderr = d.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.read(stdout)
		d.end(cmd.Wait())
	}()
	t.Cleanup(func() {
		_ = d.stdin.Close()
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-ended
		}
		if t.Failed() && d.stderr.Text() != "" {
			t.Logf("%s said:\n%s", script, d.stderr.Text())
		}
	})
	return d
}

// read hands every line to whom it belongs.
func (d *driver) read(stdout io.Reader) {
	lines := bufio.NewReader(stdout)
	for {
		data, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var l line
		if err := json.Unmarshal(data, &l); err != nil {
			d.t.Errorf("the script writes %q: %v", data, err)
			continue
		}
		d.mu.Lock()
		to := d.calls[l.ID]
		if l.ID == 0 {
			to = d.happened
		}
		d.mu.Unlock()
		if to != nil {
			to.add(l)
		}
	}
}

// end tells everybody who waits that the script is gone.
func (d *driver) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = errors.Join(errors.New("the script has ended"), err)
	d.happened.end(d.gone)
	for _, r := range d.calls {
		r.end(d.gone)
	}
}

// ask starts a call and returns where its answers go.
func (d *driver) ask(call string, params any) (int, *record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil {
		return 0, nil, d.gone
	}
	d.last++
	answers := newRecord()
	d.calls[d.last] = answers
	return d.last, answers, d.write(d.last, call, params)
}

// write must be called with the lock held: lines do not mix.
func (d *driver) write(id int, call string, params any) error {
	data, err := json.Marshal(map[string]any{"id": id, "call": call, "params": params})
	if err != nil {
		return fmt.Errorf("ask for %s: %w", call, err)
	}
	if _, err := d.stdin.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("ask for %s: %w", call, err)
	}
	return nil
}

// abort ends a call from outside.
func (d *driver) abort(id int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.write(0, "abort", map[string]any{"id": id}) // the script may be gone
}

func (d *driver) forget(id int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.calls, id)
}

// call asks and waits for the one answer.
func call[T any](d *driver, name string, params any) (T, error) {
	var result T
	id, answers, err := d.ask(name, params)
	if err != nil {
		return result, err
	}
	defer d.forget(id)
	l, err := answers.at(d.t.Context(), 0)
	if err != nil {
		return result, fmt.Errorf("%s: %w", name, err)
	}
	if l.Error != nil {
		return result, l.Error
	}
	if err := json.Unmarshal(l.Result, &result); err != nil {
		return result, fmt.Errorf("%s: read the answer: %w", name, err)
	}
	return result, nil
}

// record is a growing list of lines, for any number of readers.
type record struct {
	mu    sync.Mutex
	lines []line
	grown chan struct{} // closed with the next line
	err   error
}

func newRecord() *record { return &record{grown: make(chan struct{})} }

func (r *record) add(l line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, l)
	close(r.grown)
	r.grown = make(chan struct{})
}

func (r *record) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		close(r.grown)
	}
}

// at waits for the line with the index i.
func (r *record) at(ctx context.Context, i int) (line, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		r.mu.Lock()
		lines, grown, err := r.lines, r.grown, r.err
		r.mu.Unlock()
		if i < len(lines) {
			return lines[i], nil
		}
		if err != nil {
			return line{}, err
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return line{}, fmt.Errorf("wait for line %d: %w", i, ctx.Err())
		}
	}
}

// last waits for the line that ends a call, from the index i on.
func (r *record) last(ctx context.Context, i int) (line, error) {
	for ; ; i++ {
		l, err := r.at(ctx, i)
		if err != nil || l.Event == nil {
			return l, err
		}
	}
}
