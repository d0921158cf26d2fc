package plugins

import "slices"

// Answered is an answer that a call of the current step was given.
type Answered struct {
	Step       int        `json:"step"`
	Ticket     Ticket     `json:"ticket"`
	Resolution Resolution `json:"resolution"`
}

// noteAnswer keeps the answer that the call in the context goes on with. It
// counts as long as the step lasts: when another gate has the call wait again,
// the one that was answered must not ask twice.
func (e *Engine) noteAnswer() {
	p := &e.Context
	if p.Resolution == nil || p.Ticket == nil || p.Call == nil {
		return
	}
	e.answers = slices.DeleteFunc(slices.Clone(e.answers), func(a Answered) bool {
		return a.Step != p.step() || a.Ticket.CallID == p.Call.ID && a.Ticket.ID == p.Ticket.ID
	})
	a := Answered{Step: p.step(), Ticket: *p.Ticket, Resolution: *p.Resolution}
	a.Ticket.CallID = p.Call.ID
	e.answers = append(e.answers, a)
}

// Answered returns the latest answer that the call concerned was given to a
// ticket with an action, and the ticket. A call may have had to wait several
// times, for several gates.
func (p *PhaseContext) Answered(action string) (*Ticket, *Resolution) {
	if p.Ticket != nil && p.Resolution != nil && p.Ticket.Action == action {
		return p.Ticket, p.Resolution
	}
	if p.Call == nil {
		return nil, nil
	}
	for i := len(p.engine.answers) - 1; i >= 0; i-- {
		a := &p.engine.answers[i]
		if a.Step == p.step() && a.Ticket.CallID == p.Call.ID && a.Ticket.Action == action {
			return &a.Ticket, &a.Resolution
		}
	}
	return nil, nil
}

func (p *PhaseContext) step() int {
	if p.Stats == nil {
		return 0
	}
	return p.Stats.Steps
}
