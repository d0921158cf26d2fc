package runsclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Events follows a run from the event after the given number to the run's last event. It
// reconnects after broken connections. A bad event or order is a *ProtocolError, which ends the
// sequence; so is a stream that ends cleanly before the run.
func (c *Client) Events(ctx context.Context, runID string, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		checked := newOrder(after)
		for again := false; ; again = true {
			over, err := c.followStream(ctx, runID, checked, yield)
			if over {
				return
			}
			if again && c.o.SDK != Python && errors.Is(err, syscall.ECONNREFUSED) || isFatal(err) || ctx.Err() != nil {
				yield(Event{}, err)
				return
			}
			if !c.pauseFor(ctx) {
				yield(Event{}, context.Cause(ctx))
				return
			}
		}
	}
}

// isFatal reports whether an error is anything but a connection failure.
func isFatal(err error) bool {
	return errors.As(err, new(*Error)) || errors.As(err, new(*ProtocolError)) || errors.As(err, new(*OAuthError))
}

// pauseFor waits for the pause unless the context ends first.
func (c *Client) pauseFor(ctx context.Context) bool {
	pause := time.NewTimer(c.o.Pause)
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// followStream passes on the events of one connection, and reports whether to stop: after the
// run's end, or because the consumer stopped.
func (c *Client) followStream(ctx context.Context, runID string, checked *order, yield func(Event, error) bool) (over bool, err error) {
	path, header := c.Path("agent-runs", runID, "stream"), http.Header{"Accept": {"text/event-stream"}}
	if checked.seq > 0 {
		seq := strconv.FormatInt(checked.seq, 10)
		path += "?lastSeq=" + seq
		header.Set("Last-Event-ID", seq)
	}
	resp, err := c.sendRequest(ctx, http.MethodGet, path, nil, header)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		return false, c.refusalError(&Response{Status: resp.StatusCode, Header: resp.Header, Body: body})
	}
	if err := checkHeader(resp.Header); err != nil {
		return false, err
	}
	frames := newFrames(resp.Body)
	for {
		f, err := frames.next()
		if errors.Is(err, io.EOF) {
			return false, &ProtocolError{Problem: fmt.Sprintf("the stream ends after event %d, and the run goes on", checked.seq)}
		}
		if err != nil {
			return false, err
		}
		e, err := c.readEvent(f)
		if err == nil {
			err = checked.checkNext(e)
		}
		if err != nil {
			return false, err
		}
		if !yield(e, nil) || e.Terminal() {
			return true, nil
		}
	}
}

func checkHeader(h http.Header) error {
	for name, want := range map[string]string{"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache, no-transform"} {
		if !strings.EqualFold(h.Get(name), want) {
			return &ProtocolError{Problem: fmt.Sprintf("the header %s is %q", name, h.Get(name))}
		}
	}
	return nil
}
