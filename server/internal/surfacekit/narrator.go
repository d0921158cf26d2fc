package surfacekit

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
)

// ModelUsage is the usage of one model.
type ModelUsage struct {
	Provider, Model string
	event.Usage
}

// Narrator converts the log of a turn to answers: each ends where the turn asks its client for
// something, or ends. The result depends on the log alone, so all replicas and readers get the same
// answers with the same ids.
type Narrator struct {
	turn string
	// from and to are the answers to tell, counted from 0.
	from, to int
	teller   Teller
	// Segment counts the answers that have ended. Finished is the turn's end.
	Segment  int
	Finished *event.RunFinish
	// Questions are all questions of the turn so far.
	Questions []*Question
	// Usage is the usage of the current answer.
	Usage []ModelUsage
	// At is the time of the latest event.
	At time.Time
	// CannotAsk reports whether the client cannot be asked a question; nil means that it can be
	// asked all. Skipped are the open questions that a waiting turn could not ask.
	CannotAsk func(*Question) bool
	Skipped   []*Question
	narration
	calls map[string]*Call
	order []string
}

// narration is the position in the model's answer.
type narration struct {
	step    int
	passage *Passage
	// message is the id of the step's message. ids counts the messages by their ids in the log.
	message  string
	ids      map[string]int
	passages int
	// pending are the calls of an incomplete model call, and spoke is set once there was a text.
	pending []*Call
	spoke   bool
	// whole is set if the model's answer in this step is complete.
	whole bool
}

// NewNarrator returns a narrator that tells a range of a turn's answers to a teller, which may be
// nil.
func NewNarrator(turnID string, from, to int, teller Teller) *Narrator {
	return &Narrator{turn: event.ShownID(turnID), from: from, to: to, teller: teller, calls: map[string]*Call{}, narration: narration{ids: map[string]int{}}}
}

// Over reports whether the last requested answer has ended.
func (n *Narrator) Over() bool { return n.Finished != nil || n.Segment > n.to }

// IsLast reports whether the current answer is the last requested one.
func (n *Narrator) IsLast() bool { return n.Segment == n.to }

// Question returns a question by its public id; nil if the id is unknown.
func (n *Narrator) Question(id string) *Question {
	for _, q := range n.Questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// AsksClient returns the question for the result of a client call by the call's public id; nil for
// other calls.
func (n *Narrator) AsksClient(callID string) *Question {
	for _, q := range n.Questions {
		if q.RunsAtClient() && q.Call.ID == callID {
			return q
		}
	}
	return nil
}

// Open returns the unanswered questions.
func (n *Narrator) Open() []*Question {
	return slices.DeleteFunc(slices.Clone(n.Questions), func(q *Question) bool { return q.Answered })
}

// Add adds records of the log, up to the end of the last requested answer.
func (n *Narrator) Add(records []event.Record) error {
	for i := range records {
		if n.Over() {
			return nil
		}
		ev, err := records[i].Event()
		if errors.As(err, new(*event.UnknownTypeError)) {
			continue // of a newer version
		}
		if err != nil {
			return err
		}
		n.add(&ev)
	}
	return nil
}

// tell calls a function with the teller if the current answer was requested.
func (n *Narrator) tell(f func(t Teller)) {
	if n.teller != nil && n.Segment >= n.from {
		f(n.teller)
	}
}

func (n *Narrator) add(ev *event.Event) {
	n.At = ev.Time
	switch d := ev.Data.(type) {
	case *event.RunStart:
		n.breakOff()
	case *event.StepStart:
		n.beginStep(d)
	case *event.StreamReset:
		n.breakOff()
		n.nextMessage(n.message)
	case *event.TextDelta:
		n.addText(d.Delta, false)
	case *event.ReasoningDelta:
		n.addText(d.Delta, true)
	case *event.ToolCallStart:
		n.beginCall(d.ID, d.Name)
	case *event.ToolCallDelta:
		if c := n.calls[d.ID]; c != nil && !c.ended && d.Delta != "" {
			c.told = append(c.told, d.Delta...)
			n.tell(func(t Teller) { t.CallArguments(c, d.Delta) })
		}
	case *event.ToolCallReady:
		n.endCall(d)
	case *event.ToolCallCancel:
		n.dropCall(n.calls[d.ID])
	case *event.InferenceComplete:
		n.addUsage(d)
		n.pending, n.whole = nil, true
		if d.FinishReason != model.FinishMaxTokens {
			n.closeText(Complete)
		}
	case *event.StepEnd:
		n.endStep()
	case *event.ToolCallStreamDelta:
		if c := n.calls[d.ID]; c != nil {
			n.tell(func(t Teller) { t.CallOutput(c, d.Delta) })
		}
	case *event.ToolCallDone:
		n.addResult(d)
	case *event.InteractionRequest:
		n.closeText(Complete)
		if n.Question(n.turn+"/"+d.ID) == nil {
			n.Questions = append(n.Questions, &Question{InteractionRequest: d, ID: n.turn + "/" + d.ID, Call: n.calls[d.CallID], Segment: n.Segment})
		}
	case *event.ToolCallResumed:
		if q := n.Question(n.turn + "/" + d.TargetID); q != nil {
			q.Answered, q.Canceled = true, d.Action == string(interaction.Cancel)
		}
	case *event.RunWaiting:
		n.wait()
	case *event.RunFinish:
		n.Finish(d)
	default:
		n.tell(func(t Teller) { t.Note(ev) })
	}
}

func (n *Narrator) beginStep(d *event.StepStart) {
	n.breakOff()
	n.endStep()
	n.step = d.Step
	n.nextMessage(d.MessageID)
	n.tell(func(t Teller) { t.BeginStep(d.Step) })
}

// wait ends the answer if the turn waits for new questions to its client.
func (n *Narrator) wait() {
	var asked []*Question
	n.Skipped = nil
	for _, q := range n.Questions {
		switch {
		case q.Answered || q.asked:
		case n.CannotAsk != nil && n.CannotAsk(q):
			n.Skipped = append(n.Skipped, q)
		default:
			q.asked, q.Segment = true, n.Segment
			asked = append(asked, q)
		}
	}
	if len(asked) == 0 {
		return
	}
	// Concurrent calls ask in any order.
	slices.SortStableFunc(asked, func(a, b *Question) int { return slices.Index(n.order, a.CallID) - slices.Index(n.order, b.CallID) })
	n.closeText(Complete)
	for _, q := range asked {
		n.tell(func(t Teller) { t.Ask(q) })
	}
	n.endStep()
	n.tell(func(t Teller) { t.Wait(asked) })
	n.Segment++
	n.Usage = nil
}

func (n *Narrator) endStep() {
	if n.whole {
		n.closeText(Complete)
	}
	n.closeText(Unfinished)
	if step := n.step; step > 0 {
		n.step = 0
		n.tell(func(t Teller) { t.EndStep(step) })
	}
}

// nextMessage sets a new, unique id for the model's message.
func (n *Narrator) nextMessage(id string) {
	id, _, _ = strings.Cut(id, "~")
	if id == "" {
		id = n.turn + "/m"
	}
	n.ids[id]++
	if n.message = id; n.ids[id] > 1 {
		n.message += "~" + strconv.Itoa(n.ids[id])
	}
}

func (n *Narrator) addText(delta string, thought bool) {
	if delta == "" {
		return
	}
	if n.passage != nil && n.passage.Thought != thought {
		n.closeText(Complete)
	}
	if n.message == "" {
		n.nextMessage("")
	}
	if n.passage == nil {
		n.passages++
		n.passage = &Passage{Message: n.message, Number: n.passages, Thought: thought}
		n.tell(func(t Teller) { t.BeginText(n.passage) })
	}
	n.spoke = n.spoke || !thought
	n.tell(func(t Teller) { t.Text(n.passage, delta) })
}

func (n *Narrator) closeText(end PassageEnd) {
	if p := n.passage; p != nil {
		n.passage, p.End = nil, end
		n.tell(func(t Teller) { t.EndText(p) })
	}
}

// breakOff ends everything that the model began and will repeat.
func (n *Narrator) breakOff() {
	n.closeText(Repeated)
	n.whole = false
	for _, c := range n.pending {
		n.dropCall(c)
	}
	n.pending = nil
}

func (n *Narrator) addUsage(d *event.InferenceComplete) {
	at := slices.IndexFunc(n.Usage, func(u ModelUsage) bool { return u.Provider == d.Provider && u.Model == d.Model })
	if at < 0 {
		at = len(n.Usage)
		n.Usage = append(n.Usage, ModelUsage{Provider: d.Provider, Model: d.Model})
	}
	n.Usage[at].Add(d.Usage)
}

// Finish ends the turn.
func (n *Narrator) Finish(d *event.RunFinish) {
	if n.Over() {
		return
	}
	if d.Result != nil && !n.spoke { // truncated log, or a structured answer
		n.addText(d.Result.Response, false)
	}
	if d.Termination.Status() == event.StatusSucceeded {
		n.closeText(Complete)
	}
	n.closeText(Unfinished)
	n.breakOff()
	n.endStep()
	n.tell(func(t Teller) { t.End(d) })
	n.Finished = d
}

// beginCall begins a call. If its id was used before, a number is added to the id.
func (n *Narrator) beginCall(id, name string) *Call {
	n.closeText(BeforeCall)
	if n.message == "" {
		n.nextMessage("")
	}
	public := n.turn + "/" + id
	if n.ids[public]++; n.ids[public] > 1 {
		public += "~" + strconv.Itoa(n.ids[public])
	}
	c := &Call{ID: public, Name: name, Message: n.message}
	n.calls[id] = c
	n.pending = append(n.pending, c)
	n.tell(func(t Teller) { t.BeginCall(c) })
	return c
}

// endCall ends a call with its arguments. If they differ from those already sent, the call is sent
// again.
func (n *Narrator) endCall(d *event.ToolCallReady) {
	c := n.calls[d.ID]
	arguments := string(rawjson.Object(d.Arguments))
	if c != nil && !c.ended && len(c.told) > 0 && string(c.told) != arguments {
		n.dropCall(c)
	}
	if c == nil || c.ended {
		c = n.beginCall(d.ID, d.Name)
	}
	if len(c.told) == 0 {
		n.tell(func(t Teller) { t.CallArguments(c, arguments) })
	}
	c.Arguments, c.told, c.ended = arguments, nil, true
	n.order = append(n.order, d.ID)
	n.tell(func(t Teller) { t.EndCall(c) })
}

func (n *Narrator) dropCall(c *Call) {
	if c == nil || c.Dropped {
		return
	}
	if c.Dropped = true; !c.ended {
		c.ended = true
		n.tell(func(t Teller) { t.EndCall(c) })
	}
	n.tell(func(t Teller) { t.DropCall(c) })
}

func (n *Narrator) addResult(d *event.ToolCallDone) {
	if d.Outcome == event.CallSuspended {
		return
	}
	n.closeText(Complete)
	c := n.calls[d.ID]
	if c == nil {
		n.endCall(&event.ToolCallReady{ID: d.ID, Name: d.Name})
		c = n.calls[d.ID]
	}
	n.tell(func(t Teller) { t.CallResult(c, d) })
}
