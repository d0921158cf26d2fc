package surfacekit

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
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
