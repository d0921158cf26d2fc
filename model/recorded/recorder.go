package recorded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/agentruntime/agentruntime/model"
)

// Recorder calls another executor and records its answers. It is safe for concurrent use.
type Recorder struct {
	next    model.Executor
	options *options

	mu     sync.Mutex
	w      io.Writer
	err    error
	closed bool
}

var (
	_ model.Executor = (*Recorder)(nil)
	_ model.Vendor   = (*Recorder)(nil)
	_ io.Closer      = (*Recorder)(nil)
)

// NewRecorder returns an executor that calls next and writes each answer to w when it ends. An
// answer that its caller abandoned is not written: it reveals nothing about the model.
func NewRecorder(next model.Executor, w io.Writer, options ...Option) *Recorder {
	return &Recorder{next: next, options: newOptions(options), w: w}
}

// Vendor returns the vendor of the recorded executor; empty if it is unknown.
func (r *Recorder) Vendor() string {
	if v, ok := r.next.(model.Vendor); ok {
		return v.Vendor()
	}
	return ""
}

// Close closes the recorded executor if it is an io.Closer. It returns the first error from writing
// a recording. Further calls close nothing.
func (r *Recorder) Close() error {
	r.mu.Lock()
	err, closed := r.err, r.closed
	r.closed = true
	r.mu.Unlock()
	if c, ok := r.next.(io.Closer); ok && !closed {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Stream calls the recorded executor. A failure to write a recording does not affect the answer;
// Close reports it.
func (r *Recorder) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		kept, unfit := r.options.newRequest(req)
		one := recording{Request: kept}
		for ev, err := range r.next.Stream(ctx, req) {
			if err != nil {
				if ctx.Err() == nil {
					one.Error = newFailure(model.AsError(err))
					r.write(&one, unfit)
				}
				yield(ev, err)
				return
			}
			one.Events = append(one.Events, newEvent(&ev))
			if ev.Type == model.EventFinish {
				r.write(&one, unfit)
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// write writes a recording, unless its request cannot be encoded. It keeps the first error for
// Close.
func (r *Recorder) write(one *recording, unfit error) {
	if f := r.options.redact; f != nil {
		one.Events = redactAnswer(one.Events, f)
		if one.Error != nil {
			one.Error.Message = f(one.Error.Message)
		}
	}
	line, err := encodeRecording(one)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err = errors.Join(unfit, err); err == nil {
		_, err = r.w.Write(line)
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("write recording: %w", err)
	}
}
