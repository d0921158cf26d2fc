package surfacekit

import (
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/tools"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

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

// Call is a tool call.
type Call struct {
	// ID joins the ids of the turn and the call. Message is the message with the call.
	ID, Name, Message string
	// Arguments is a JSON object once the call has ended.
	Arguments string
	// Dropped is set if the model repeats the call.
	Dropped bool
	ended   bool
	// told has the arguments sent so far.
	told []byte
}

// Question is a question of a turn.
type Question struct {
	*event.InteractionRequest
	// ID joins the ids of the turn and the interaction. Call is the waiting call; nil if the log
	// does not have it.
	ID   string
	Call *Call
	// Segment is the answer that ends with the question.
	Segment  int
	Answered bool
	// Canceled is set if the client was not asked, or refused.
	Canceled bool
	asked    bool
}

// RunsAtClient reports whether the question is a call of a client function.
func (q *Question) RunsAtClient() bool {
	return q.Action == clienttool.Action && q.Call != nil && q.Call.Name == q.Tool
}

// IsWords reports whether the answer is a text or a form, rather than the decision whether to make
// a call.
func (q *Question) IsWords() bool {
	return q.Action == tools.ActionAsk || q.Action == tools.ActionAuthorize || q.Tool == ""
}

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
