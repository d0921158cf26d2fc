package a2asdk

import (
	"bufio"
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

// driver is the process with the clients and servers of one version. It reads a line of JSON for
// each call, and ends when its standard input does.
type driver struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *process.Tail
	ended  chan struct{}

	// users is the number of tests using it.
	users int

	mu    sync.Mutex
	last  int
	calls map[int]*record
	// happened holds the unsolicited events of objects.
	happened map[int]*record
	gone     error // set when the process has ended
}

// drivers are the drivers in use, by version. Concurrent tests share them, because starting Node.js
// takes longer than most tests.
var drivers = struct {
	sync.Mutex
	byVersion map[Version]*driver
}{byVersion: map[Version]*driver{}}

// useDriver returns the driver of a version, which runs at least as long as the test.
func useDriver(t testing.TB, v Version) *driver {
	t.Helper()
	command := commandOf(t, v)
	drivers.Lock()
	defer drivers.Unlock()
	d := drivers.byVersion[v]
	if d == nil || d.isGone() {
		var err error
		if d, err = startDriver(command); err != nil {
			t.Fatal(err)
		}
		drivers.byVersion[v] = d
	}
	d.users++
	t.Cleanup(func() {
		if text := d.stderr.Text(); t.Failed() && text != "" {
			t.Logf("the SDK of version %s said:\n%s", v, text)
		}
		drivers.Lock()
		defer drivers.Unlock()
		if d.users--; d.users > 0 {
			return
		}
		if drivers.byVersion[v] == d {
			delete(drivers.byVersion, v)
		}
		d.stopProcess()
	})
	return d
}

// commandOf returns the command that starts a version's driver.
func commandOf(t testing.TB, v Version) []string {
	t.Helper()
	if v == Python {
		return pythonCommand(t)
	}
	return []string{"node", filepath.Join(requireInstalled(t), "driver.mjs"), string(v)}
}

// startDriver starts the process.
func startDriver(command []string) (*driver, error) {
	d := &driver{
		stderr: &process.Tail{Limit: 4 << 10}, ended: make(chan struct{}),
		calls: map[int]*record{}, happened: map[int]*record{},
	}
	d.cmd = exec.Command(command[0], command[1:]...)
	d.cmd.Stderr = d.stderr
	var err error
	if d.stdin, err = d.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the SDK: %w", err)
	}
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the SDK: %w", err)
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the SDK: %w", err)
	}
	go func() {
		defer close(d.ended)
		wrong := d.readLines(stdout)
		d.endAll(errors.Join(wrong, d.cmd.Wait()))
	}()
	return d, nil
}

// stopProcess stops the process and waits for it to end.
func (d *driver) stopProcess() {
	_ = d.stdin.Close() // it may have ended already
	select {
	case <-d.ended:
	case <-time.After(patience):
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
}

// readLines delivers each line to its recipient until the output ends.
func (d *driver) readLines(stdout io.ReadCloser) error {
	defer stdout.Close() // it was only read
	lines := bufio.NewReader(stdout)
	for {
		data, err := lines.ReadBytes('\n')
		if err != nil {
			return nil //nolint:nilerr // how it ended, Wait tells
		}
		var l line
		if err := json.Unmarshal(data, &l); err != nil {
			return fmt.Errorf("the SDK writes %q: %w", data, err)
		}
		d.mu.Lock()
		to := d.calls[l.ID]
		if l.ID == 0 {
			to = d.happened[l.On]
		}
		d.mu.Unlock()
		if to != nil {
			to.add(l)
		}
	}
}

// endAll reports to all waiters that the process has ended.
func (d *driver) endAll(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = errors.Join(errors.New("the process of the SDK has ended"), err)
	for _, r := range d.happened {
		r.endLines(d.gone)
	}
	for _, r := range d.calls {
		r.endLines(d.gone)
	}
}

func (d *driver) isGone() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone != nil
}

// callMethod calls a method of an object; 0 is the process itself. It returns the record that
// receives the answers.
func (d *driver) callMethod(object int, method string, params any) (int, *record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil {
		return 0, nil, d.gone
	}
	d.last++
	answers := newRecord()
	d.calls[d.last] = answers
	return d.last, answers, d.writeCall(map[string]any{"id": d.last, "on": object, "call": method, "params": params})
}

// writeCall must be called with the lock held: lines do not mix.
func (d *driver) writeCall(call map[string]any) error {
	data, err := json.Marshal(call)
	if err != nil {
		return fmt.Errorf("call %s: %w", call["call"], err)
	}
	if _, err := d.stdin.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("call %s: %w", call["call"], err)
	}
	return nil
}

// abortCall ends a call from outside.
func (d *driver) abortCall(id int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.writeCall(map[string]any{"id": id, "call": "abort"}) // the process may be dead
}

// forgetCall drops further answers to a call.
func (d *driver) forgetCall(id int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.calls, id)
}
