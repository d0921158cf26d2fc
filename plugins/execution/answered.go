package execution

import (
	"slices"

	"github.com/agentruntime/agentruntime/event/interaction"
)

// Answered is an answer to a call of the current step.
type Answered struct {
	Step        int                 `json:"step"`
	Interaction interaction.Request `json:"ticket"`
	Answer      interaction.Answer  `json:"resolution"`
}

// noteAnswer records the answer to the call in the context for the rest of the step, so that a gate
// whose question was answered does not ask again when another gate makes the call wait.
func (e *Engine) noteAnswer() {
	p := &e.Context
	if p.InteractionAnswer == nil || p.Interaction == nil || p.Call == nil {
		return
	}
	e.answers = slices.DeleteFunc(slices.Clone(e.answers), func(a Answered) bool {
		return a.Step != e.currentStep() || a.Interaction.CallID == p.Call.ID && a.Interaction.ID == p.Interaction.ID
	})
	a := Answered{Step: e.currentStep(), Interaction: *p.Interaction, Answer: *p.InteractionAnswer}
	a.Interaction.CallID = p.Call.ID
	e.answers = append(e.answers, a)
}

// currentStep returns the context's step.
func (e *Engine) currentStep() int {
	if e.Context.Stats == nil {
		return 0
	}
	return e.Context.Stats.Steps
}
