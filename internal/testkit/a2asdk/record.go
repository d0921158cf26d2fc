package a2asdk

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// patience is how long a test waits for something that should be immediate.
const patience = 30 * time.Second

// line is a line of the process's output: an answer to a call, or an event of an object.
type line struct {
	ID     int             `json:"id"`
	On     int             `json:"on"`
	Event  json.RawMessage `json:"event"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
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
	if r.err == nil {
		close(r.grown)
		r.grown = make(chan struct{})
	}
}

// endLines reports that there will be no more lines.
func (r *record) endLines(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		close(r.grown)
	}
}

// allLines returns the lines so far.
func (r *record) allLines() []line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines
}

// lineAt waits for the line at index i.
func (r *record) lineAt(ctx context.Context, i int) (line, error) {
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
			return line{}, fmt.Errorf("wait for line %d: %w", i+1, ctx.Err())
		}
	}
}

// lastLine waits for the line that ends a call, starting at index i.
func (r *record) lastLine(ctx context.Context, i int) (line, error) {
	for ; ; i++ {
		l, err := r.lineAt(ctx, i)
		if err != nil || l.Event == nil {
			return l, err
		}
	}
}
