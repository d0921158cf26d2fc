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

// Choice is one action of a stage.
type Choice struct {
	// Action is a verb such as "looked up", "wrapped", "injected", "validated", "added" or
	// "dropped".
	Action string `json:"action"`
	// Subject is the object of the action, as in `model "default"`.
	Subject string `json:"subject"`
	// Detail names the deciding rule or the result.
	Detail string `json:"detail,omitempty"`
}

// Stage records the actions and duration of one stage of resolving.
type Stage struct {
	Name     string        `json:"name"`
	Duration time.Duration `json:"duration_ns"`
	Choices  []Choice      `json:"choices"`
}

// Trace records the actions of resolving an agent, stage by stage. A nil Trace records nothing, so
// that resolving for a turn has no overhead.
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

// addChoice records a choice about an entry, by its kind and id. Callers that have to compute the
// detail call on first.
func (t *Trace) addChoice(action, kind, id, detail string) {
	if t == nil {
		return
	}
	s := &t.Stages[len(t.Stages)-1]
	s.Choices = append(s.Choices, Choice{Action: action, Subject: kind + " " + strconv.Quote(id), Detail: detail})
}

// addNote records a choice about something without an id.
func (t *Trace) addNote(action, subject, detail string) {
	if t == nil {
		return
	}
	s := &t.Stages[len(t.Stages)-1]
	s.Choices = append(s.Choices, Choice{Action: action, Subject: subject, Detail: detail})
}

func (t *Trace) isOn() bool { return t != nil }
