package workflow

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/google/uuid"
)

// MaxEvent bounds the data of an event, in bytes.
const MaxEvent = 1 << 20

// Event is something that happened, which may begin runs.
type Event struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Source      string `json:"source,omitempty"`
	Subject     string `json:"subject,omitempty"`
	SpecVersion string `json:"specVersion,omitempty"`
	// Time is when it happened.
	Time            time.Time                  `json:"time,omitzero"`
	DataContentType string                     `json:"dataContentType,omitempty"`
	Data            json.RawMessage            `json:"data,omitempty"`
	Extensions      map[string]json.RawMessage `json:"extensions,omitempty"`
}

// complete checks an event and fills in optional fields.
func (ev *Event) complete(now time.Time) error {
	switch {
	case ev.Type == "":
		return &service.InvalidError{Field: "type", Problem: "is required"}
	case len(ev.Data) > MaxEvent:
		return &service.InvalidError{Field: "data", Problem: fmt.Sprintf("has %d bytes; %d are allowed", len(ev.Data), MaxEvent)}
	case ev.SpecVersion != "" && ev.SpecVersion != "1.0":
		return &service.InvalidError{Field: "specVersion", Problem: fmt.Sprintf("unsupported version %q; use 1.0", ev.SpecVersion)}
	}
	for name, text := range map[string]string{"id": ev.ID, "type": ev.Type, "source": ev.Source, "subject": ev.Subject, "dataContentType": ev.DataContentType} {
		if len(text) > 1024 || !utf8.ValidString(text) || bytes.IndexByte([]byte(text), 0) >= 0 {
			return &service.InvalidError{Field: name, Problem: "must be text of at most 1024 bytes"}
		}
	}
	ev.ID, ev.SpecVersion = cmp.Or(ev.ID, uuid.Must(uuid.NewV7()).String()), "1.0"
	if ev.Time.IsZero() {
		ev.Time = now
	}
	return nil
}

// runID returns the id of the run that an event starts by a trigger. The same event, identified by
// its source and id, starts no other run.
func (ev *Event) runID(kind TriggerKind, trigger string) string {
	return "event:" + stepID(kind, trigger, ev.Source, ev.ID)[len(stepTurn):]
}

// Publish creates the runs of the caller's tenant whose triggers match the events. It returns the
// accepted events, and the number of new runs that the caller may see.
func (e *Engine) Publish(ctx context.Context, caller service.Caller, events []Event) (taken []Event, created int, err error) {
	scope, err := runScope(caller)
	if err != nil {
		return nil, 0, err
	}
	now := e.now()
	taken = append(taken, events...)
	for i := range taken {
		if err := taken[i].complete(now); err != nil {
			return nil, 0, err
		}
	}
	all, err := e.readStarts(ctx, tenantOf(scope), store.RunScope{All: true})
	if err != nil {
		return nil, 0, err
	}
	var runs []*store.WorkflowRun
	seen := make(map[string]bool) // the ids of runs that the caller may see
	for i := range taken {
		for j := range all.triggers {
			t := &all.triggers[j]
			if t.paused || !t.trigger.Matches(taken[i].Type, taken[i].Source, taken[i].Subject) {
				continue
			}
			run, err := e.newRun(ctx, &t.definition, taken[i].runID(ByEvent, t.key), &Trigger{Kind: ByEvent, ID: t.id, Event: &taken[i]}, taken[i].Data, now)
			if err != nil {
				return nil, 0, err
			}
			if run != nil {
				runs = append(runs, run)
				seen[run.ID] = scope.Sees(run.Owner, run.Shared) && mayUse(caller, t.flow)
			}
		}
	}
	ids, err := e.createRuns(ctx, runs)
	for _, id := range ids {
		if seen[id] {
			created++
		}
	}
	return taken, created, err
}

// createRuns creates runs, signals that they may begin, and returns the ids of the new ones.
func (e *Engine) createRuns(ctx context.Context, runs []*store.WorkflowRun) ([]string, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	ids, err := e.settings.Store.CreateRuns(ctx, runs, nil)
	if len(ids) > 0 {
		signal(e.news)
	}
	return ids, err
}
