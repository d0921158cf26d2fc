package run

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// Fold turns the log of a turn into segments of items: a segment ends where the turn asks its
// client for something, or ends. The result depends on the log alone, so every replica and reader
// gets the same items with the same ids.
type Fold struct {
	surfacekit.Narrated
	surfacekit.Silent
	Core, Label string
	// chat is set for chat completions, which show only text, thoughts and functions.
	chat bool
	Record
	// Want is the segment whose items are stored and sent to the sink, which may be nil.
	Want int
	Sink Sink

	// Endings are the ends of segments, and Shown are the items of questions.
	Endings []*Ending
	Shown   map[*surfacekit.Question]*Item
	// number counts the items of the turn.
	number int
	segmentState
}

// segmentState is the state of the current segment.
type segmentState struct {
	Begun bool
	Items []*Item
	// open is the current message or thought. called is set if its step made a call.
	open   *Item
	called bool
}

// Ending is how a segment ends: with questions, or with the turn.
type Ending struct {
	Items     []*Item
	Questions []*surfacekit.Question
	Finish    *event.RunFinish
	Usage     event.Usage
	At        time.Time
}

// Sink writes the items of a segment as they come.
type Sink interface {
	Begin()
	Add(i *Item)
	Text(i *Item, delta string)
	Done(i *Item)
	End(e *Ending)
	// Fail writes why the stream ends early.
	Fail(f *server.Failure)
}

// NewFold returns a fold that shows one segment of a turn.
func NewFold(turnID, agent string, record Record, want int) *Fold {
	f := &Fold{
		Core: CoreOf(turnID), Label: agent, chat: strings.HasPrefix(turnID, ChatPrefix), Record: record, Want: want,
		Shown: map[*surfacekit.Question]*Item{},
	}
	f.Narrator = surfacekit.NewNarrator(turnID, 0, math.MaxInt, f)
	if f.chat {
		f.CannotAsk = func(q *surfacekit.Question) bool { return q.Action != clienttool.Action }
	}
	return f
}

// Over returns the end of the wanted segment; nil if it has not ended.
func (f *Fold) Over() *Ending {
	if len(f.Endings) <= f.Want {
		return nil
	}
	return f.Endings[f.Want]
}

// tellSink calls a function with the sink if the current segment is the wanted one.
func (f *Fold) tellSink(do func(s Sink)) {
	if f.Segment == f.Want && f.Sink != nil {
		do(f.Sink)
	}
}

// Begin begins the first segment immediately.
func (f *Fold) Begin() {
	if f.Want == 0 {
		f.begin()
	}
}

// begin begins a segment before its first output.
func (f *Fold) begin() {
	if !f.Begun {
		f.Begun = true
		f.tellSink(Sink.Begin)
	}
}

// add adds an item to the segment.
func (f *Fold) add(i *Item, prefix string) *Item {
	f.begin()
	i.ID, i.Index, i.Status = itemID(prefix, f.Core, f.number), len(f.Items), StateRunning
	f.number++
	f.Items = append(f.Items, i)
	f.tellSink(func(s Sink) { s.Add(i) })
	return i
}

// close ends an item.
func (f *Fold) close(i *Item, status string) {
	i.Status = status
	f.tellSink(func(s Sink) { s.Done(i) })
}

func (f *Fold) appendText(i *Item, delta string) {
	i.Text = append(i.Text, delta...)
	f.tellSink(func(s Sink) { s.Text(i, delta) })
}

// BeginStep begins a model call.
func (f *Fold) BeginStep(int) {
	f.begin()
	f.called = false
}

// Text adds to a message or thought. A structured answer is added when the turn ends.
func (f *Fold) Text(p *surfacekit.Passage, delta string) {
	switch {
	case p.Thought && !f.Thoughts, !p.Thought && f.Form:
		return
	case f.open == nil && p.Thought:
		f.open = f.add(newItem(ItemThought), thoughtPrefix)
	case f.open == nil:
		f.open = f.add(newItem(ItemMessage), MessagePrefix)
	}
	f.appendText(f.open, delta)
}

func newItem(kind string) *Item { return &Item{ItemView: ItemView{Type: kind}} }

// EndText ends a message or thought. Clients join the messages of a response, so all but the last
// end with a line break.
func (f *Fold) EndText(p *surfacekit.Passage) {
	i := f.open
	if f.open = nil; i == nil {
		return
	}
	status := StateCompleted
	if p.End == surfacekit.Repeated || p.End == surfacekit.Unfinished {
		status = StateIncomplete
	}
	if i.Type == ItemMessage && p.End != surfacekit.Unfinished {
		i.Phase = phaseFinal
		if f.called || p.End != surfacekit.Complete {
			i.Phase = phaseInterim
			if p.End == surfacekit.Repeated || !f.chat && !bytes.HasSuffix(i.Text, []byte("\n")) {
				f.appendText(i, "\n")
			}
		}
	}
	f.close(i, status)
}

// BeginCall notes that the step makes a call.
func (f *Fold) BeginCall(*surfacekit.Call) { f.called = true }

// DropCall retracts the call.
func (f *Fold) DropCall(*surfacekit.Call) { f.called = false }

// CallResult adds a call that the server made.
func (f *Fold) CallResult(c *surfacekit.Call, d *event.ToolCallDone) {
	if f.chat {
		return
	}
	i := &Item{ItemView: ItemView{Type: ItemTool, Name: d.Name, Label: f.Label, Arguments: new(cmp.Or(c.Arguments, "{}"))}, failed: d.Outcome != event.CallSucceeded}
	for _, q := range f.Questions {
		if asked := f.Shown[q]; q.CallID != d.ID || asked == nil {
			continue
		} else if asked.Type == ItemFunction {
			return // the client made it
		} else if asked.Type == ItemApproval {
			i.RequestID = asked.ID
		}
	}
	f.add(i, toolPrefix)
	i.Text = []byte(strings.ToValidUTF8(d.Result.Text(), "\uFFFD"))
	status := StateCompleted
	if i.failed {
		status = StateFailed
	}
	f.close(i, status)
}

// Ask adds a question for the client: to call a function, to approve a call, or to answer
// with a message.
func (f *Fold) Ask(q *surfacekit.Question) {
	i := &Item{ItemView: ItemView{Name: q.Tool, Arguments: new(string(rawjson.Object(q.Arguments)))}}
	switch {
	case q.Action == clienttool.Action:
		i.Type, i.CallID = ItemFunction, itemID(callPrefix, f.Core, f.number)
		f.add(i, functionPrefix)
	case q.IsWords():
		i = newItem(ItemMessage)
		i.Phase = phaseFinal
		f.add(i, MessagePrefix)
		f.appendText(i, cmp.Or(q.Message, q.Action))
	default:
		i.Type, i.Label = ItemApproval, f.Label
		f.add(i, approvalPrefix)
	}
	f.Shown[q] = i
	f.close(i, StateCompleted)
}

// Wait ends the segment with questions.
func (f *Fold) Wait(asked []*surfacekit.Question) {
	f.endSegment(&Ending{Questions: asked, Usage: f.used()})
}

// End ends the turn.
func (f *Fold) End(d *event.RunFinish) {
	f.begin()
	isMessage := func(i *Item) bool { return i.Type == ItemMessage }
	if d.Result != nil && d.Result.Response != "" && !slices.ContainsFunc(f.Items, isMessage) { // it has a form
		i := f.add(newItem(ItemMessage), MessagePrefix)
		f.appendText(i, d.Result.Response)
		status := StateIncomplete
		if d.Termination.Status() == event.StatusSucceeded {
			i.Phase, status = phaseFinal, StateCompleted
		}
		f.close(i, status)
	}
	used := f.used()
	if f.Segment == 0 && d.Usage.Total() >= used.Total() {
		used = d.Usage // with delegates
	}
	f.endSegment(&Ending{Finish: d, Usage: used})
}

// used returns the usage of the segment.
func (f *Fold) used() (used event.Usage) {
	for _, u := range f.Usage {
		used.Add(u.Usage)
	}
	return used
}

// endSegment ends the segment.
func (f *Fold) endSegment(e *Ending) {
	e.Items, e.At = f.Items, f.At
	f.Endings = append(f.Endings, e)
	f.tellSink(func(s Sink) { s.End(e) })
	if f.Over() != nil {
		f.SetEnded()
	}
	f.segmentState = segmentState{}
}

// questionOf returns the question that a client answers by an id; nil if absent.
func (f *Fold) questionOf(id string) *surfacekit.Question {
	for _, q := range f.Questions {
		if f.Shown[q] != nil && f.Shown[q].publicID() == id {
			return q
		}
	}
	return nil
}
