package vendortest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

// begunStream returns the recording text through the first event with content.
func (v *Vendor) begunStream(t *testing.T) []byte {
	t.Helper()
	var begun []byte
	replay := v.newReplayer(t, v.helloRequest())
	for _, event := range v.recordedEvents(t, "text") {
		begun = append(begun, event...)
		events, _ := replay(bytes.NewReader(begun))
		if slices.ContainsFunc(events, func(ev model.Event) bool { return ev.Type == model.EventText }) {
			return begun
		}
	}
	t.Fatal("the recording says nothing")
	return nil
}

// testCancel cancels a request before and during the answer.
func (v *Vendor) testCancel(t *testing.T) {
	for name, piece := range map[string][]byte{
		"before the answer": nil,
		"within the answer": v.begunStream(t),
		"at its end":        v.Recorded(t, "text"),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			e := v.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				if piece == nil {
					cancel()
				} else {
					Answer(piece)(w, r)
				}
				<-r.Context().Done()
			})
			var failure error
			for _, err := range e.Stream(ctx, v.helloRequest()) {
				if failure != nil {
					t.Fatal("something follows the error")
				}
				failure = err
				cancel()
			}
			if got := model.AsError(failure); got.Class != model.Canceled || !errors.Is(failure, context.Canceled) || got.Provider != Provider {
				t.Errorf("the error is %v", failure)
			}
		})
	}
}

// openBody is a body that stays open after its content until the request ends.
type openBody struct {
	io.Reader
	ctx context.Context
}

func (b *openBody) Read(p []byte) (int, error) {
	if n, err := b.Reader.Read(p); err == nil {
		return n, nil
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

// answerOpen returns an executor whose requests get a stream that stays open.
func (v *Vendor) answerOpen(t *testing.T, stream []byte) model.Executor {
	return v.Offline(t, func(r *http.Request) (*http.Response, error) {
		return StreamResponse(r, &openBody{bytes.NewReader(stream), r.Context()}), nil
	})
}

// testDeadline lets the deadline of a request expire before and during the answer.
func (v *Vendor) testDeadline(t *testing.T) {
	for name, limit := range map[string]time.Duration{"before": -time.Second, "within": time.Minute} {
		t.Run(name, func(t *testing.T) {
			begun := v.begunStream(t)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				start := time.Now()
				_, failure := AskContext(ctx, t, v.answerOpen(t, begun), v.helloRequest())
				if took := time.Since(start); failure == nil || failure.Class != model.Timeout || took != max(limit, 0) {
					t.Errorf("the error is %v, after %s", failure, took)
				}
			})
		})
	}
}

// testBreak breaks off an answer midway.
func (v *Vendor) testBreak(t *testing.T) {
	begun, gone := v.begunStream(t), make(chan struct{})
	e := v.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		Answer(begun)(w, r)
		<-r.Context().Done()
		close(gone)
	})
	for ev, err := range e.Stream(t.Context(), v.helloRequest()) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == model.EventText {
			break
		}
	}
	<-gone
}

// closeCounter is a body that counts how often it is closed.
type closeCounter struct {
	io.Reader
	closed int
}

// Close counts.
func (c *closeCounter) Close() error { c.closed++; return nil }

// testBodyIsClosed ends streams normally, and breaks them off after every event.
func (v *Vendor) testBodyIsClosed(t *testing.T) {
	v.eachRecording(t, func(t *testing.T, r *Recording, stream []byte) {
		for stopAfter := range 20 {
			body := &closeCounter{Reader: bytes.NewReader(stream)}
			seen := 0
			for _, err := range v.Replay(t, body).Stream(t.Context(), v.requestOf(r)) {
				if seen++; seen > stopAfter || err != nil {
					break
				}
			}
			if body.closed == 0 {
				t.Fatalf("the body stays open after %d events", seen)
			}
		}
	})
}

// testPatience leaves complete streams open.
func (v *Vendor) testPatience(t *testing.T) {
	for _, r := range v.Recordings {
		if r.Name != "text" && r.Name != v.Calls && !r.EndsAnywhere {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			if _, failure := Ask(t, v.answerOpen(t, v.Recorded(t, r.Name)), v.requestOf(&r)); failure != nil {
				t.Fatalf("%s: the answer ends with %v", r.Name, failure)
			}
			if took := time.Since(start); took != v.Patience {
				t.Errorf("%s: the answer takes %s, want %s", r.Name, took, v.Patience)
			}
		})
	}
}

// testAbruptClose closes the connection during the answer.
func (v *Vendor) testAbruptClose(t *testing.T) {
	stream := v.Recorded(t, v.Calls)
	e := v.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		Answer(stream[:len(stream)/2])(w, r)
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = conn.Close()
		}
	})
	events, failure := Ask(t, e, v.helloRequest())
	if failure == nil || failure.Class != model.StreamInterrupted || len(events) == 0 {
		t.Errorf("%d events, then %v", len(events), failure)
	}
}
