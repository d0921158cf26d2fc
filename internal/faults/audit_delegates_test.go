package faults_test

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// delegateRun is a delegate as shown in its caller's log.
type delegateRun struct {
	turn  string
	ended bool
}

// auditDelegates checks the events of delegates: each belongs to an open call of its path, a
// delegate begins and ends at most once, and no delegate continues after its worker died.
func (a *audit) auditDelegates(turn *store.Turn, records []event.Record) {
	open := make(map[string]bool) // calls, by path and id
	runs := make(map[string]*delegateRun)
	dead := false
	for i := range records {
		r := &records[i]
		at := strings.Join(r.Path, "/")
		run := runs[at]
		switch {
		case len(r.Path) == 0:
			if r.Type == event.TypeRunStart && i > 0 {
				for _, cut := range runs {
					cut.ended = true
				}
			}
		case !open[at]:
			a.t.Errorf("event %d of turn %s, a %s, is outside of its call %s", r.Seq, turn.ID, r.Type, at)
			dead = true
		case r.Type == event.TypeRunStart:
			a.delegates++
			if run != nil {
				a.t.Errorf("event %d of turn %s begins the delegate of call %s again", r.Seq, turn.ID, at)
			}
			var d event.RunStart
			if err := json.Unmarshal(r.Data, &d); err != nil || d.ParentCallID != r.Path[len(r.Path)-1] {
				a.t.Errorf("event %d of turn %s: %s, %v", r.Seq, turn.ID, r.Data, err)
			}
			runs[at] = &delegateRun{turn: d.DelegateTurnID}
		case run == nil, run.ended:
			a.t.Errorf("event %d of turn %s, a %s, is of call %s, whose delegate does not run", r.Seq, turn.ID, r.Type, at)
			dead = true
		case r.Type == event.TypeRunFinish:
			run.ended = true
		}
		if dead {
			return
		}
		if len(r.Path) > 0 {
			a.delegated++
		}
		a.trackCall(turn, r, open, runs[at])
	}
}

// trackCall records the open calls and checks that a delegate's successful call was made.
func (a *audit) trackCall(turn *store.Turn, r *event.Record, open map[string]bool, run *delegateRun) {
	switch r.Type {
	case event.TypeToolCallReady:
		var d event.ToolCallReady
		if err := json.Unmarshal(r.Data, &d); err != nil {
			a.t.Error(err)
		}
		open[strings.Join(append(slices.Clone(r.Path), d.ID), "/")] = true
	case event.TypeToolCallDone:
		var d event.ToolCallDone
		if err := json.Unmarshal(r.Data, &d); err != nil {
			a.t.Error(err)
		}
		delete(open, strings.Join(append(slices.Clone(r.Path), d.ID), "/"))
		if run == nil || d.Outcome != event.CallSucceeded || d.Name == subdelegate {
			return
		}
		if c := a.calls[run.turn][d.ID]; c == nil || c.ends == 0 {
			a.t.Errorf("event %d of turn %s: call %s of delegate %v succeeded, and was not made", r.Seq, turn.ID, d.ID, r.Path)
		}
	}
}
