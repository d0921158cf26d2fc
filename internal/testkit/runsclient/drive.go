package runsclient

import (
	"cmp"
	"context"
	"errors"
	"sync"
)

// atOnce is the number of tools that the Python SDK runs concurrently.
const atOnce = 4

// Drive follows a run from the event after the given number to the run's end, and makes the calls
// that it requests. Each event is first passed to show, which may be nil.
func (c *Client) Drive(ctx context.Context, runID string, tools []Tool, after int64, show func(Event)) (*Result, error) {
	ctx, stop := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer stop()
	places := make(chan struct{}, atOnce)
	result := &Result{RunID: runID}
	for e, err := range c.Events(ctx, runID, after) {
		if err != nil {
			return result, err
		}
		result.Events = append(result.Events, e)
		if show != nil {
			show(e)
		}
		switch e.Type {
		case "local_tool_call":
			calls.Go(func() {
				if c.o.SDK == Python {
					places <- struct{}{}
					defer func() { <-places }()
				}
				c.dispatchCall(ctx, runID, e, tools)
			})
		case "result":
			return result, c.takeResult(result, e)
		case "error":
			return result, &RunError{RunID: runID, Subtype: cmp.Or(e.Text("errorClass"), e.Text("code")), Message: e.Text("error"), Event: e}
		case "cancelled":
			return result, &RunError{RunID: runID, Subtype: "cancelled", Message: "the run was canceled", Event: e}
		}
	}
	return result, ctx.Err()
}

// takeResult records a result. The Go SDK checks a subtype only if there is one.
func (c *Client) takeResult(result *Result, e Event) error {
	subtype := e.Text("subtype")
	if subtype == "success" || c.o.SDK == Go && subtype == "" {
		if e.Payload["ok"] != true {
			return &ProtocolError{Problem: "a success is not ok"}
		}
		result.Text = e.Text("text")
		return nil
	}
	return &RunError{RunID: result.RunID, Subtype: cmp.Or(subtype, "error"), Message: cmp.Or(e.Text("error"), subtype), Event: e}
}

// dispatchCall makes a call and posts its result. Only TypeScript handles a rejected post: it
// posts the rejection.
func (c *Client) dispatchCall(ctx context.Context, runID string, e Event, tools []Tool) {
	body := make(map[string]any, 1)
	result, err := callTool(ctx, e, tools)
	switch {
	case err != nil:
		body["error"] = err.Error()
	case result == "" && c.o.SDK == Go:
	default:
		body["result"] = result
	}
	err = c.Answer(ctx, runID, e.Text("toolUseId"), body)
	if refused := new(*Error); c.o.SDK == TypeScript && errors.As(err, refused) {
		_ = c.Answer(ctx, runID, e.Text("toolUseId"), map[string]any{"error": err.Error()})
	}
}
