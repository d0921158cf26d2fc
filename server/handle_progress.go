package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

// ProgressType is the media type of responses that report the progress of a request: lines of JSON.
// All lines before the last have the progress; the last has the result, or an error with its
// status.
const ProgressType = "application/x-ndjson"

// Progress is the progress of a request.
type Progress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// progressInterval is the interval of progress lines.
const progressInterval = 250 * time.Millisecond

// HandleProgress returns a route like Handle whose clients may request progress with the header
// Accept: ProgressType. The report function must not be called after answer has returned; it is nil
// if the client did not request progress. A disconnect cancels the context.
func HandleProgress[In, Out any](pattern, scope string, answer func(ctx context.Context, caller service.Caller, r *http.Request, in In, report func(done, total int)) (Out, error)) Route {
	route := Handle(pattern, scope, func(ctx context.Context, caller service.Caller, r *http.Request, in In) (Out, error) {
		return answer(ctx, caller, r, in, nil)
	})
	plain := route.Handler
	followed := Answer(pattern, scope, func(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
		var in In
		if err := ReadJSON(r, &in, true); err != nil {
			return err
		}
		f := &follower{w: w, r: r}
		return f.followWork(func(ctx context.Context) (any, error) {
			return answer(ctx, caller, r, in, func(done, total int) { f.progress.Store(&Progress{done, total}) })
		})
	})
	route.followed = true
	route.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), ProgressType) {
			followed.Handler.ServeHTTP(w, r)
		} else {
			plain.ServeHTTP(w, r)
		}
	})
	return route
}

// follower reports the progress of a request to its client.
type follower struct {
	w        http.ResponseWriter
	r        *http.Request
	progress atomic.Pointer[Progress]
	shown    *Progress
	begun    bool
}

// ended is the outcome of the work.
type ended struct {
	result any
	err    error
}

// followWork runs the work. An error before the first line is returned.
func (f *follower) followWork(work func(ctx context.Context) (any, error)) error {
	ctx, cancel := context.WithCancel(f.r.Context())
	defer cancel()
	end := make(chan ended, 1)
	go func() { // ends with the work, for which the request waits
		var e ended
		defer func() { end <- e }()
		defer panics.Recover(&e.err)
		e.result, e.err = work(ctx)
	}()
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case e := <-end:
			return f.writeEnd(&e)
		case <-ticker.C:
			if err := f.writeProgress(); err != nil {
				cancel()
			}
		}
	}
}

// writeProgress writes the progress if it has changed.
func (f *follower) writeProgress() error {
	now := f.progress.Load()
	if now == f.shown {
		return nil
	}
	f.shown = now
	return f.writeLine(map[string]any{"progress": now})
}

func (f *follower) writeEnd(e *ended) error {
	if e.err != nil && !f.begun {
		return e.err
	}
	if err := f.writeProgress(); err != nil {
		return nil //nolint:nilerr // the client is gone
	}
	line := map[string]any{"result": e.result}
	if e.err != nil {
		line = map[string]any{"error": f.describeFailure(e.err)}
	}
	_ = f.writeLine(line) // the client may be gone
	return nil
}

// failedLine is an error after the response has begun.
type failedLine struct {
	Status    int     `json:"status"`
	Code      string  `json:"code"`
	Message   string  `json:"message"`
	RequestID string  `json:"request_id"`
	Details   Details `json:"details,omitzero"`
}

func (f *follower) describeFailure(err error) failedLine {
	x, logger := exchangeFrom(f.r.Context()), zap.NewNop()
	if x.mounted != nil {
		logger = x.mounted.router.server.settings.Logger
	}
	failure := Report(f.r.Context(), logger, err)
	x.code = failure.Code
	return failedLine{failure.Status, failure.Code, failure.Message, x.id, failure.Details}
}

// writeLine writes a line and flushes it.
func (f *follower) writeLine(line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if !f.begun {
		f.begun = true
		f.w.Header().Set("Content-Type", ProgressType)
		f.w.Header().Set("Cache-Control", "no-store")
		f.w.Header().Set("X-Content-Type-Options", "nosniff")
	}
	if _, err := f.w.Write(append(data, '\n')); err != nil {
		return err
	}
	return http.NewResponseController(f.w).Flush()
}
