package resolve

import (
	"strconv"
	"time"
)

// The stages of resolving.
const (
	StageLookup  = "lookup"
	StagePlugins = "plugins"
	StageTools   = "tools"
)

// Choice is one thing that a stage did.
type Choice struct {
	// Action is a verb such as "looked up", "wrapped", "injected", "validated", "added" or
	// "dropped".
	Action string `json:"action"`
	// Subject is the object of the action, as in `model "default"`.
	Subject string `json:"subject"`
	// Detail says by which rule, or what came of it.
	Detail string `json:"detail,omitempty"`
}

// Stage is what one stage of resolving did, and how long it took.
type Stage struct {
	Name     string        `json:"name"`
	Duration time.Duration `json:"duration_ns"`
	Choices  []Choice      `json:"choices"`
}

// Trace is what resolving an agent did, stage by stage. A nil Trace records
// nothing, so that the way turns resolve pays for none of it.
type Trace struct {
	Stages []Stage `json:"stages"`
	begun  time.Time
}

// beginStage opens a stage; end closes it.
func (t *Trace) beginStage(name string) {
	if t == nil {
		return
	}
	t.begun = time.Now()
	t.Stages = append(t.Stages, Stage{Name: name, Choices: []Choice{}})
}

func (t *Trace) endStage() {
	if t == nil {
		return
	}
	t.Stages[len(t.Stages)-1].Duration = time.Since(t.begun)
}

// addChoice records a choice about the thing of a kind that has an id. Callers that
// have to compute the detail ask on first.
func (t *Trace) addChoice(action, kind, id, detail string) {
	if t == nil {
		return
	}
	s := &t.Stages[len(t.Stages)-1]
	s.Choices = append(s.Choices, Choice{Action: action, Subject: kind + " " + strconv.Quote(id), Detail: detail})
}

// addNote records a choice about something that has no id.
func (t *Trace) addNote(action, subject, detail string) {
	if t == nil {
		return
	}
	s := &t.Stages[len(t.Stages)-1]
	s.Choices = append(s.Choices, Choice{Action: action, Subject: subject, Detail: detail})
}

func (t *Trace) isOn() bool { return t != nil }
