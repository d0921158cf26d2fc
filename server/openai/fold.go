package openai

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

// fold turns the log of a turn into segments of items: a segment ends where the turn asks
// its client for something, or ends. It is a function of the log alone, so that every
// replica and every reader gets the same items with the same ids.
type fold struct {
	surfacekit.Narrated
	surfacekit.Silent
	core, label string
	// chat is set for chat completions, which show text, thoughts and functions alone.
	chat bool
	turnRecord
	// want is the segment whose items are kept and shown to the sink, which may be nil.
	want int
	sink sink

	// ended are the ends of segments, and asked are the items of questions.
	ended []*ending
	asked map[*surfacekit.Question]*item
	// number counts the items of the turn.
	number int
	segmentState
}

// segmentState is the state of the current segment.
type segmentState struct {
	begun bool
	items []*item
	// open is the current message or thought, and called is set if its step made a call.
	open   *item
	called bool
}

// ending is how a segment ends: with questions, or with the turn.
type ending struct {
	items     []*item
	questions []*surfacekit.Question
	finish    *event.RunFinish
	usage     event.Usage
	at        time.Time
}

// sink writes the items of a segment as they come.
type sink interface {
	begin()
	add(i *item)
	text(i *item, delta string)
	done(i *item)
	end(e *ending)
	// fail writes why the stream ends early.
	fail(f *server.Failure)
}

func newFold(turnID, agent string, record turnRecord, want int) *fold {
	f := &fold{
		core: coreOf(turnID), label: agent, chat: strings.HasPrefix(turnID, chatPrefix), turnRecord: record, want: want,
		asked: map[*surfacekit.Question]*item{},
	}
	f.Narrator = surfacekit.NewNarrator(turnID, 0, math.MaxInt, f)
	if f.chat {
		f.CannotAsk = func(q *surfacekit.Question) bool { return q.Action != clienttool.Action }
	}
	return f
}

// over returns how the wanted segment ended; nil while it has not.
func (f *fold) over() *ending {
	if len(f.ended) <= f.want {
		return nil
	}
	return f.ended[f.want]
}

// tellSink calls a function with the sink if the current segment is the wanted one.
func (f *fold) tellSink(do func(s sink)) {
	if f.Segment == f.want && f.sink != nil {
		do(f.sink)
	}
}

// Begin begins the first segment at once.
func (f *fold) Begin() {
	if f.want == 0 {
		f.begin()
	}
}

// begin begins a segment with the first thing that is told of it.
func (f *fold) begin() {
	if !f.begun {
		f.begun = true
		f.tellSink(sink.begin)
	}
}

// add adds an item to the segment.
func (f *fold) add(i *item, prefix string) *item {
	f.begin()
	i.ID, i.index, i.Status = itemID(prefix, f.core, f.number), len(f.items), stateRunning
	f.number++
	f.items = append(f.items, i)
	f.tellSink(func(s sink) { s.add(i) })
	return i
}

// close ends an item.
func (f *fold) close(i *item, status string) {
	i.Status = status
	f.tellSink(func(s sink) { s.done(i) })
}

func (f *fold) appendText(i *item, delta string) {
	i.text = append(i.text, delta...)
	f.tellSink(func(s sink) { s.text(i, delta) })
}

// BeginStep begins a model call.
func (f *fold) BeginStep(int) {
	f.begin()
	f.called = false
}

// Text adds to a message or thought. An answer with a form has it when the turn ends.
func (f *fold) Text(p *surfacekit.Passage, delta string) {
	switch {
	case p.Thought && !f.Thoughts, !p.Thought && f.Form:
		return
	case f.open == nil && p.Thought:
		f.open = f.add(newItem(itemThought), thoughtPrefix)
	case f.open == nil:
		f.open = f.add(newItem(itemMessage), messagePrefix)
	}
	f.appendText(f.open, delta)
}

func newItem(kind string) *item { return &item{itemView: itemView{Type: kind}} }

// EndText ends a message or thought. Clients join the messages of a response, so that one
// before others ends with a line break.
func (f *fold) EndText(p *surfacekit.Passage) {
	i := f.open
	if f.open = nil; i == nil {
		return
	}
	status := stateCompleted
	if p.End == surfacekit.Repeated || p.End == surfacekit.Unfinished {
		status = stateIncomplete
	}
	if i.Type == itemMessage && p.End != surfacekit.Unfinished {
		i.Phase = phaseFinal
		if f.called || p.End != surfacekit.Complete {
			i.Phase = phaseInterim
			if p.End == surfacekit.Repeated || !f.chat && !bytes.HasSuffix(i.text, []byte("\n")) {
				f.appendText(i, "\n")
			}
		}
	}
	f.close(i, status)
}

// BeginCall notes that the step makes a call.
func (f *fold) BeginCall(*surfacekit.Call) { f.called = true }

// DropCall takes the call back.
func (f *fold) DropCall(*surfacekit.Call) { f.called = false }

// CallResult adds a call that was made here.
func (f *fold) CallResult(c *surfacekit.Call, d *event.ToolCallDone) {
	if f.chat {
		return
	}
	arguments := cmp.Or(c.Arguments, "{}")
	i := &item{itemView: itemView{Type: itemTool, Name: d.Name, Label: f.label, Arguments: &arguments}, failed: d.Outcome != event.CallSucceeded}
	for _, q := range f.Questions {
		if asked := f.asked[q]; q.CallID != d.ID || asked == nil {
			continue
		} else if asked.Type == itemFunction {
			return // the client made it
		} else if asked.Type == itemApproval {
			i.RequestID = asked.ID
		}
	}
	f.add(i, toolPrefix)
	i.text = []byte(strings.ToValidUTF8(d.Result.Text(), "\uFFFD"))
	status := stateCompleted
	if i.failed {
		status = stateFailed
	}
	f.close(i, status)
}

// Ask adds a question for the client: to call a function, to approve a call, or to answer
// with a message.
func (f *fold) Ask(q *surfacekit.Question) {
	arguments := string(rawjson.Object(q.Arguments))
	i := &item{itemView: itemView{Name: q.Tool, Arguments: &arguments}}
	switch {
	case q.Action == clienttool.Action:
		i.Type, i.CallID = itemFunction, itemID(callPrefix, f.core, f.number)
		f.add(i, functionPrefix)
	case q.IsWords():
		i = newItem(itemMessage)
		i.Phase = phaseFinal
		f.add(i, messagePrefix)
		f.appendText(i, cmp.Or(q.Message, q.Action))
	default:
		i.Type, i.Label = itemApproval, f.label
		f.add(i, approvalPrefix)
	}
	f.asked[q] = i
	f.close(i, stateCompleted)
}

// Wait ends the segment with questions.
func (f *fold) Wait(asked []*surfacekit.Question) {
	f.endSegment(&ending{questions: asked, usage: f.used()})
}

// End ends the turn.
func (f *fold) End(d *event.RunFinish) {
	f.begin()
	isMessage := func(i *item) bool { return i.Type == itemMessage }
	if d.Result != nil && d.Result.Response != "" && !slices.ContainsFunc(f.items, isMessage) { // it has a form
		i := f.add(newItem(itemMessage), messagePrefix)
		f.appendText(i, d.Result.Response)
		status := stateIncomplete
		if d.Termination.Status() == event.StatusSucceeded {
			i.Phase, status = phaseFinal, stateCompleted
		}
		f.close(i, status)
	}
	used := f.used()
	if f.Segment == 0 && d.Usage.Total() >= used.Total() {
		used = d.Usage // with delegates
	}
	f.endSegment(&ending{finish: d, usage: used})
}

// used returns the usage of the segment.
func (f *fold) used() (used event.Usage) {
	for _, u := range f.Usage {
		used.Add(u.Usage)
	}
	return used
}

// endSegment ends the segment.
func (f *fold) endSegment(e *ending) {
	e.items, e.at = f.items, f.At
	f.ended = append(f.ended, e)
	f.tellSink(func(s sink) { s.end(e) })
	if f.over() != nil {
		f.SetEnded()
	}
	f.segmentState = segmentState{}
}

// questionOf returns the question that a client answers by an id; nil without one.
func (f *fold) questionOf(id string) *surfacekit.Question {
	for _, q := range f.Questions {
		if f.asked[q] != nil && f.asked[q].publicID() == id {
			return q
		}
	}
	return nil
}
