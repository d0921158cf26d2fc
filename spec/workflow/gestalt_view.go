package workflow

import (
	"bytes"
	"encoding/json"
)

// ToGestaltTarget returns the steps of a workflow as a target in Gestalt's format. It omits fields
// that Gestalt does not have.
func (w *Workflow) ToGestaltTarget() GestaltTarget {
	steps := w.AllSteps()
	if len(steps) == 1 && steps[0].ID == targetStep {
		s := viewStep(&steps[0])
		if s.When == nil && s.Timeout == nil && s.Inputs == nil && s.Metadata == nil {
			return GestaltTarget{Plugin: s.App, Agent: s.Agent} // older clients read plugin
		}
	}
	t := GestaltTarget{Steps: make([]GestaltStep, len(steps))}
	for i := range steps {
		t.Steps[i] = viewStep(&steps[i])
	}
	return t
}

func viewStep(s *Step) GestaltStep {
	v := GestaltStep{ID: s.ID, Inputs: s.Inputs, When: s.When, Timeout: s.Timeout, Metadata: s.Metadata}
	if s.Tool != nil {
		v.App = &GestaltCall{Input: s.Tool.Input}
		v.App.Name, v.App.Operation = gestaltNames(s.Tool.Name)
	}
	if a := s.Agent; a != nil {
		v.Agent = &GestaltTurn{Provider: a.Agent, Model: a.ModelID, Prompt: a.Prompt, Messages: a.Messages, Output: a.Output, SessionKey: a.SessionKey}
		if a.Tools != nil {
			v.Agent.Tools = []GestaltTool{}
		}
		for _, id := range a.Tools {
			app, operation := gestaltNames(id)
			v.Agent.Tools = append(v.Agent.Tools, GestaltTool{App: app, Operation: operation})
		}
	}
	return v
}

// FitsGestalt reports whether Gestalt's format has all fields of a workflow with one schedule or
// event trigger.
func (w *Workflow) FitsGestalt() bool {
	work := GestaltWork{Target: w.ToGestaltTarget()}
	var again *Workflow
	switch {
	case len(w.Schedules) == 1 && len(w.Events)+len(w.Webhooks) == 0:
		s := &w.Schedules[0]
		work.Paused = s.Paused
		again, _ = (&GestaltSchedule{Cron: s.Cron, TimeZone: s.TimeZone, GestaltWork: work}).Workflow(w.ID)
		again.Schedules[0].ID = s.ID
	case len(w.Events) == 1 && len(w.Schedules)+len(w.Webhooks) == 0:
		e := &w.Events[0]
		work.Paused = e.Paused
		again, _ = (&GestaltTrigger{Match: &GestaltMatch{e.Type, e.Source, e.Subject}, GestaltWork: work}).Workflow(w.ID)
		again.Events[0].ID = e.ID
	default:
		return false
	}
	own := *w
	own.Steps, own.Target = w.AllSteps(), nil
	own.Tenant, own.Subject = "", ""
	return sameRecord(&own, again)
}

func sameRecord(a, b *Workflow) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
