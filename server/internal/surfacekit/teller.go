package surfacekit

import "github.com/agentruntime/agentruntime/event"

// Teller receives the log of a turn in order. Everything that begins also ends, before the answer
// does. Text that the model repeats after it broke off has another id.
type Teller interface {
	BeginStep(step int)
	EndStep(step int)
	BeginText(p *Passage)
	Text(p *Passage, delta string)
	EndText(p *Passage)
	BeginCall(c *Call)
	CallArguments(c *Call, delta string)
	EndCall(c *Call)
	// DropCall retracts a call that has ended: the model repeats it.
	DropCall(c *Call)
	CallOutput(c *Call, delta string)
	CallResult(c *Call, d *event.ToolCallDone)
	// Note is told all other events.
	Note(ev *event.Event)
	// Ask receives each question at the end of its step.
	Ask(q *Question)
	// Wait ends the answer with the turn's questions to its client.
	Wait(asked []*Question)
	// End ends the turn.
	End(d *event.RunFinish)
}

// Passage is a text or a thought of the model.
type Passage struct {
	// Message is the id of the passage's message, and Number counts the passages of the turn.
	Message string
	Number  int
	Thought bool
	// End is how the passage ended; it is set once the passage has ended.
	End PassageEnd
}

// PassageEnd is how a passage ended.
type PassageEnd int

// The ends of passages.
const (
	// Complete passages belong to a complete answer of the model. BeforeCall passages precede a
	// call.
	Complete PassageEnd = iota
	BeforeCall
	// Repeated passages broke off, and the model begins again. Unfinished ones only broke off.
	Repeated
	Unfinished
)

// Silent is a Teller that does nothing. Tellers that ignore some calls embed it.
type Silent struct{}

// BeginStep does nothing.
func (Silent) BeginStep(int) {}

// EndStep does nothing.
func (Silent) EndStep(int) {}

// BeginText does nothing.
func (Silent) BeginText(*Passage) {}

// CallArguments does nothing.
func (Silent) CallArguments(*Call, string) {}

// EndCall does nothing.
func (Silent) EndCall(*Call) {}

// CallOutput does nothing.
func (Silent) CallOutput(*Call, string) {}

// Note does nothing.
func (Silent) Note(*event.Event) {}
