package evals

import (
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/tools"
)

// transcript collects the events of a turn. It is an event.Sink.
type transcript struct {
	// waits is signaled when the turn waits for an answer.
	waits chan struct{}

	mu    sync.Mutex
	calls []*CallResult
	// asked are the calls in the order the models requested them.
	asked     []askedCall
	byID      map[string]*CallResult
	delegates []string
	handoffs  []string
	artifacts []event.Artifact
}

// askedCall is a call requested by a model.
type askedCall struct {
	turn, id string
	result   *CallResult
}

func newTranscript() *transcript {
	return &transcript{waits: make(chan struct{}, 1), byID: make(map[string]*CallResult)}
}

// Emit records an event of the turn or of a delegate.
func (t *transcript) Emit(ev event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch d := ev.Data.(type) {
	case *event.RunStart:
		if len(ev.Path) > 0 && !slices.Contains(t.delegates, d.AgentID) {
			t.delegates = append(t.delegates, d.AgentID)
		}
	case *event.ToolCallReady:
		c := &CallResult{Tool: d.Name, Arguments: rawjson.Repair(slices.Clone(d.Arguments)), Path: slices.Clone(ev.Path)}
		t.calls = append(t.calls, c)
		t.byID[callKey(ev.Path, d.ID)] = c
		t.asked = append(t.asked, askedCall{ev.TurnID, d.ID, c})
	case *event.ToolCallDone:
		if c := t.byID[callKey(ev.Path, d.ID)]; c != nil {
			c.Outcome, c.Result = d.Outcome, d.Result.Text()
		}
	case *event.Handoff:
		if len(ev.Path) == 0 {
			t.handoffs = append(t.handoffs, d.To)
		}
	case *event.Artifact:
		t.artifacts = append(t.artifacts, *d)
	case *event.InteractionRequest:
		select {
		case t.waits <- struct{}{}:
		default:
		}
	}
}

func callKey(path []string, id string) string {
	return strings.Join(append(slices.Clip(path), id), "\x00")
}

// fill writes the collected data into the result of the turn.
func (t *transcript) fill(r *TurnResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Calls, r.Delegates, r.Handoffs, r.Artifacts = t.calls, t.delegates, t.handoffs, t.artifacts
}

// countBefore returns how many calls of the selected tools were requested before a call. Rejected
// calls do not count.
func (t *transcript) countBefore(call *tools.Call, counts func(tool string) bool) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.asked {
		switch {
		case a.turn == call.TurnID && a.id == call.ID:
			return n
		case counts(a.result.Tool) && (a.result.ran || a.result.Outcome == ""):
			n++
		}
	}
	return n
}

// noteRun records that a call reached its tool, with its arguments, which an approval may have
// replaced.
func (t *transcript) noteRun(call *tools.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.asked {
		if a.turn == call.TurnID && a.id == call.ID {
			a.result.ran, a.result.Arguments = true, rawjson.Repair(slices.Clone(call.Arguments))
		}
	}
}
