package faults_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// patience is the time limit for expected events.
const patience = 60 * time.Second

// fleet keeps a number of worker processes alive: a process that dies is restarted immediately.
type fleet struct {
	t     testing.TB
	place *place
	// calm is the maximum number of progress steps before a worker is killed.
	calm int64
	news func(p *process, turnID string)

	mu     sync.Mutex
	slots  []*process
	ending bool
	keeper sync.WaitGroup
	// changed is closed and replaced when a process starts.
	changed chan struct{}
}

func newFleet(t testing.TB, p *place, n int, news func(p *process, turnID string)) *fleet {
	t.Helper()
	f := &fleet{t: t, place: p, calm: 60, news: news, slots: make([]*process, n), changed: make(chan struct{})}
	for i := range n {
		f.keeper.Go(func() { f.keep(i) })
	}
	t.Cleanup(func() {
		for _, w := range f.dismiss() {
			w.kill()
		}
		f.keeper.Wait()
	})
	return f
}

// keep starts the process of a slot until the fleet ends.
func (f *fleet) keep(slot int) {
	for {
		f.mu.Lock()
		if f.ending {
			f.mu.Unlock()
			return
		}
		w, err := launch(f.place, f.news)
		if err != nil {
			f.t.Errorf("start a worker: %v", err)
			f.mu.Unlock()
			return
		}
		f.slots[slot] = w
		close(f.changed)
		f.changed = make(chan struct{})
		f.mu.Unlock()
		<-w.gone
		if code := w.cmd.ProcessState.ExitCode(); code > 0 {
			f.t.Errorf("a worker ended with code %d: %s", code, w.errors.String())
			return
		}
	}
}

// dismiss stops restarting and returns the current processes.
func (f *fleet) dismiss() []*process {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending = true
	var there []*process
	for _, w := range f.slots {
		if w != nil {
			there = append(there, w)
		}
	}
	return there
}

// worker waits for the process of a slot to start working and returns it.
func (f *fleet) worker(ctx context.Context, slot int) (*process, error) {
	for {
		f.mu.Lock()
		w, changed := f.slots[slot], f.changed
		f.mu.Unlock()
		if w == nil {
			w = new(process)
		}
		ready := w.ready
		if w.over() {
			ready = nil // it was
		}
		select {
		case <-ready:
			return w, nil
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// gateway waits for the first process to start working and returns it.
func (f *fleet) gateway(ctx context.Context) (gateway, error) { return f.worker(ctx, 0) }

// storm kills processes at random points and returns the time until the next one worked, for fleets
// of one.
func (f *fleet) storm(ctx context.Context, kills int, random *rand.Rand) (gaps []time.Duration) {
	for range kills {
		slot := random.IntN(len(f.slots))
		w, err := f.worker(ctx, slot)
		if err != nil {
			f.t.Errorf("no worker to be killed: %v", err)
			return gaps
		}
		// Some die as soon as they work, others a moment after a random number of progress steps.
		more := w.worked.Load() + random.Int64N(f.calm)
		soon, cancel := context.WithTimeout(ctx, time.Second)
		_ = poll(soon, func() bool { return w.worked.Load() >= more })
		cancel()
		take(ctx, time.Duration(random.IntN(5000))*time.Microsecond, random.Int())
		killed := time.Now()
		w.kill()
		if len(f.slots) > 1 {
			continue
		}
		if w, err = f.worker(ctx, slot); err != nil {
			f.t.Errorf("no worker after a kill: %v", err)
			return gaps
		}
		select {
		case began := <-w.began:
			gaps = append(gaps, began.Sub(killed))
		case <-w.gone:
			f.t.Error("a worker died before it worked")
		case <-time.After(patience):
			f.t.Error("a worker did not work after a kill")
			return gaps
		}
	}
	return gaps
}
