package a2a

import (
	"context"
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/service"
)

// fitsInOneEvent reports whether what a task that has ended made may fit into one event.
func (f *follower) fitsInOneEvent(ctx context.Context) (bool, error) {
	size := 0
	if o := f.turn.Outcome; o != nil {
		size = len(o.Response)
	}
	kept, err := f.service.ListArtifacts(ctx, f.caller, f.turn.ID)
	for _, k := range kept {
		size += k.Size
	}
	return size <= maxChunk, err
}

// trimHistory drops the oldest messages of a task until it fits into one event, and
// returns its size.
func trimHistory(task *a2a.Task) int {
	for {
		size := wireSize(task)
		if size <= maxChunk || len(task.History) == 0 {
			return size
		}
		task.History = task.History[1:]
	}
}

// wireSize returns how large the JSON of a value is, in bytes.
func wireSize(value any) int {
	data, err := json.Marshal(value)
	if err != nil {
		return 0
	}
	return len(data)
}

// replayTask shows a task that has ended as one that is worked on, then what it made, in
// pieces, and its end.
func (f *follower) replayTask(ctx context.Context, history *int, yield func(a2a.Event, error) bool) {
	events, err := f.replayEvents(ctx, history)
	if err != nil {
		yield(nil, err)
		return
	}
	for _, ev := range events {
		if !yield(ev, nil) {
			return
		}
	}
}

func (f *follower) replayEvents(ctx context.Context, history *int) ([]a2a.Event, error) {
	began, v := *f.turn, fullView(history)
	began.Outcome, began.Status, v.artifacts = nil, service.Running, false
	task, err := f.toTask(ctx, &began, v)
	if err != nil {
		return nil, err
	}
	trimHistory(task)
	kept, err := f.service.ListArtifacts(ctx, f.caller, f.turn.ID)
	if err != nil {
		return nil, err
	}
	for _, k := range kept {
		f.due = append(f.due, k.ID)
	}
	o := f.turn.Outcome
	if o == nil {
		return []a2a.Event{task}, nil
	}
	rest, err := f.endEvents(ctx, o.Response, &o.Termination, &a2awire.Report{Usage: o.Usage, Cost: o.Cost, Steps: o.Steps}, f.turn.FinishedAt)
	return append([]a2a.Event{task}, rest...), err
}
