package runtime

import (
	"sync"
	"time"
)

const (
	// maxIdle limits the goroutines waiting for work: enough for 1,000 turns with a tool call
	// each, which takes 16 MiB of stacks. A goroutine waits between one and two idleTimes before
	// it ends.
	maxIdle  = 2048
	idleTime = 100 * time.Millisecond
)

// workers runs functions, each on a separate goroutine, and keeps the goroutines for later
// functions because their stacks have grown. The zero value is ready to use. A function that does
// not return blocks only its goroutine.
type workers struct {
	mu sync.Mutex
	// idle are the waiting goroutines, longest wait first.
	idle []*worker
	// unused is the number of idle workers not needed since the last trim.
	unused int
	// trimming is set while the timer runs.
	trimming bool
	timer    *time.Timer
	closed   bool
}

// worker is one goroutine. A condition wakes it with fewer system calls than a
// channel does.
type worker struct {
	mu   sync.Mutex
	cond sync.Cond
	work func()
	over bool
}

// runAside runs a function on a goroutine that nothing else uses at the same time.
func (p *workers) runAside(work func()) {
	if w := p.takeIdle(); w != nil {
		w.assign(work, false)
		return
	}
	w := new(worker)
	w.cond.L = &w.mu
	go p.serve(w, work)
}

// serve runs one function after another.
func (p *workers) serve(w *worker, work func()) {
	for work != nil {
		work()
		if !p.addIdle(w) {
			return
		}
		work = w.awaitWork()
	}
}

// assign gives an idle worker a function, or ends it.
func (w *worker) assign(work func(), over bool) {
	w.mu.Lock()
	w.work, w.over = work, over
	w.cond.Signal()
	w.mu.Unlock()
}

// awaitWork returns the next function; nil ends the worker.
func (w *worker) awaitWork() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.work == nil && !w.over {
		w.cond.Wait()
	}
	work := w.work
	w.work = nil
	return work
}

// takeIdle returns the most recently used worker; nil if none is idle.
func (p *workers) takeIdle() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	w := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	p.unused = min(p.unused, last)
	return w
}

// addIdle keeps a worker, and reports false if it must end.
func (p *workers) addIdle(w *worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= maxIdle {
		return false
	}
	p.idle = append(p.idle, w)
	if !p.trimming {
		p.trimming, p.unused = true, 0
		if p.timer == nil {
			p.timer = time.AfterFunc(idleTime, p.trim)
		} else {
			p.timer.Reset(idleTime)
		}
	}
	return true
}

// trim ends the workers not needed since the last trim.
func (p *workers) trim() {
	p.mu.Lock()
	unused := p.unused
	ended := append([]*worker(nil), p.idle[:unused]...)
	p.idle = append(p.idle[:0], p.idle[unused:]...)
	p.unused = len(p.idle)
	if p.trimming = len(p.idle) > 0; p.trimming {
		p.timer.Reset(idleTime)
	}
	p.mu.Unlock()
	for _, w := range ended {
		w.assign(nil, true)
	}
}

// close ends the idle workers, and the others when their functions return.
func (p *workers) close() {
	p.mu.Lock()
	p.closed, p.unused = true, 0
	ended := p.idle
	p.idle = nil
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	for _, w := range ended {
		w.assign(nil, true)
	}
}
