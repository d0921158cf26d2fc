package openai

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// fold turns the log of a turn into segments of items: a segment ends where the turn asks
// its client for something, or ends. It is a function of the log alone, so that every
// replica and every reader gets the same items with the same ids.
type fold struct {
	core, label string
	// chat is set for chat completions, which show text, thoughts and functions alone.
	chat bool
	turnRecord
	// want is the segment whose items are kept and shown to the sink, which may be nil.
	want int
	sink sink

	// segment is the one under way, and ended are the ends of those before it.
	segment int
	ended   []*ending
	// number counts the items of the turn.
	number int
	segmentState
	calls
}

// segmentState is the state of the segment under way.
type segmentState struct {
	begun bool
	// at is the time of the latest event.
	at    time.Time
	items []*item
	used  event.Usage
	// open is the message or thought under way, called is set if its step made a call, and
	// said if the answer of the model is whole.
	open         *item
	called, said bool
}

// calls are the calls of the model, and what the turn asks because of them.
type calls struct {
	// ready are the calls by their ids, and order is that of the ids.
	ready     map[string]*event.ToolCallReady
	order     []string
	questions []*question
	// refused are the questions that the protocol has no place for and that nobody has
	// answered.
	refused []string
}

// question is what a turn asks.
type question struct {
	*event.InteractionRequest
	segment  int
	answered bool
	// item is how the client is asked; nil before that.
	item *item
}

// ending is how a segment ends: with questions, or with the turn.
type ending struct {
	items     []*item
	questions []*question
	finish    *event.RunFinish
	usage     event.Usage
	at        time.Time
}

// sink is shown the items of a segment as they come.
type sink interface {
	begin()
	add(i *item)
	text(i *item, delta string)
	done(i *item)
	end(e *ending)
}

func newFold(turnID, agent string, record turnRecord, want int) *fold {
	return &fold{
		core: coreOf(turnID), label: agent, chat: strings.HasPrefix(turnID, chatPrefix), turnRecord: record, want: want,
		calls: calls{ready: map[string]*event.ToolCallReady{}},
	}
}

// over returns how the wanted segment ended; nil while it has not.
func (f *fold) over() *ending {
	if len(f.ended) <= f.want {
		return nil
	}
	return f.ended[f.want]
}

// apply adds a record of the log.
func (f *fold) apply(r *event.Record) error {
	ev, err := r.Event()
	if err != nil {
		return err
	}
	f.begin()
	f.at = ev.Time
	switch d := ev.Data.(type) {
	case *event.RunStart, *event.StepStart, *event.StreamReset:
		f.cutOff()
	case *event.TextDelta:
		f.addText(itemMessage, messagePrefix, d.Delta)
	case *event.ReasoningDelta:
		if f.Thoughts {
			f.addText(itemThought, thoughtPrefix, d.Delta)
		}
	case *event.ToolCallReady:
		f.called = true
		f.ready[d.ID] = d
		f.order = append(f.order, d.ID)
	case *event.InferenceComplete:
		f.used.Add(d.Usage)
		f.said = true
		if d.FinishReason != model.FinishMaxTokens {
			f.closeText()
		}
	case *event.StepEnd:
		if f.said {
			f.closeText()
		}
	case *event.ToolCallDone:
		f.addTool(d)
	case *event.InteractionRequest:
		f.ask(d)
	case *event.ToolCallResumed:
		if q := f.question(d.TargetID); q != nil {
			q.answered = true
		}
	case *event.RunWaiting:
		f.wait()
	case *event.RunFinish:
		f.finish(d)
	}
	return nil
}

// begin begins a segment with its first event.
func (f *fold) begin() {
	if f.begun {
		return
	}
	f.begun = true
	if s := f.shown(); s != nil {
		s.begin()
	}
}

// shown returns the sink if the segment under way is the wanted one.
func (f *fold) shown() sink {
	if f.segment != f.want || f.sink == nil {
		return nil
	}
	return f.sink
}

// add adds an item to the segment.
func (f *fold) add(i *item, prefix string) *item {
	i.id, i.index, i.status = itemID(prefix, f.core, f.number), len(f.items), stateRunning
	f.number++
	f.items = append(f.items, i)
	if s := f.shown(); s != nil {
		s.add(i)
	}
	return i
}

// close ends an item.
func (f *fold) close(i *item, status string) {
	i.status = status
	if s := f.shown(); s != nil {
		s.done(i)
	}
}

// addText adds to the message or thought under way.
func (f *fold) addText(kind, prefix, delta string) {
	if kind == itemMessage && f.Form {
		return // the answer has its form when the turn ends
	}
	if f.open != nil && f.open.kind != kind {
		f.closeText()
	}
	if f.open == nil {
		f.open = f.add(&item{kind: kind}, prefix)
	}
	f.appendText(f.open, delta)
}

func (f *fold) appendText(i *item, delta string) {
	i.text = append(i.text, delta...)
	if s := f.shown(); s != nil {
		s.text(i, delta)
	}
}

// closeText ends the message or thought under way. Clients join the messages of a
// response, so that one before others ends with a line break.
func (f *fold) closeText() {
	i := f.open
	if f.open = nil; i == nil {
		return
	}
	if i.kind == itemMessage {
		i.phase = phaseFinal
		if f.called {
			i.phase = phaseInterim
			if !f.chat && !bytes.HasSuffix(i.text, []byte("\n")) {
				f.appendText(i, "\n")
			}
		}
	}
	f.close(i, stateCompleted)
}

// cutOff ends a message or thought that the model began and now begins again.
func (f *fold) cutOff() {
	f.called, f.said = false, false
	i := f.open
	if f.open = nil; i == nil {
		return
	}
	if i.kind == itemMessage {
		i.phase = phaseInterim
		f.appendText(i, "\n")
	}
	f.close(i, stateIncomplete)
}

// addTool adds a call that was made here.
func (f *fold) addTool(d *event.ToolCallDone) {
	if d.Outcome == event.CallSuspended || f.chat {
		return
	}
	i := &item{kind: itemTool, name: d.Name, label: f.label, arguments: f.argumentsOf(d.ID), failed: d.Outcome != event.CallSucceeded}
	for _, q := range f.questions {
		if q.CallID != d.ID || q.item == nil {
			continue
		}
		switch q.item.kind {
		case itemFunction:
			return // the client made it
		case itemApproval:
			i.approval = q.item.id
		}
	}
	f.closeText()
	f.add(i, toolPrefix)
	i.text = []byte(strings.ToValidUTF8(d.Result.Text(), "\uFFFD"))
	status := stateCompleted
	if i.failed {
		status = stateFailed
	}
	f.close(i, status)
}

// argumentsOf returns the arguments of a call as a JSON object.
func (c *calls) argumentsOf(id string) string {
	if ready := c.ready[id]; ready != nil {
		return string(rawjson.Object(ready.Arguments))
	}
	return "{}"
}

// ask notes what the turn asks.
func (f *fold) ask(d *event.InteractionRequest) {
	f.closeText()
	if f.question(d.ID) == nil {
		f.questions = append(f.questions, &question{InteractionRequest: d, segment: f.segment})
	}
}

// wait ends the segment if the turn waits for what its client has not been asked before.
func (f *fold) wait() {
	e := &ending{usage: f.used}
	f.refused = nil
	for _, q := range f.questions {
		switch {
		case q.answered || q.item != nil:
		case f.chat && q.Action != clienttool.Action:
			f.refused = append(f.refused, q.ID)
		default:
			e.questions = append(e.questions, q)
		}
	}
	if len(e.questions) == 0 {
		return
	}
	// Calls that ran at the same time ask in any order.
	slices.SortStableFunc(e.questions, func(a, b *question) int { return slices.Index(f.order, a.CallID) - slices.Index(f.order, b.CallID) })
	for _, q := range e.questions {
		f.offer(q)
	}
	f.endSegment(e)
}

// offer adds what the turn asks of its client: to call a function, to approve a call, or
// to answer a question, which is a message.
func (f *fold) offer(q *question) {
	arguments := string(rawjson.Object(q.Arguments))
	switch {
	case q.Action == clienttool.Action:
		q.item = f.add(&item{kind: itemFunction, name: q.Tool, callID: itemID(callPrefix, f.core, f.number), arguments: arguments}, functionPrefix)
	case q.Action == tools.ActionAsk || q.Action == tools.ActionAuthorize || q.Tool == "":
		q.item = f.add(&item{kind: itemMessage, phase: phaseFinal}, messagePrefix)
		f.appendText(q.item, cmp.Or(q.Message, q.Action))
	default:
		q.item = f.add(&item{kind: itemApproval, name: q.Tool, label: f.label, arguments: arguments}, approvalPrefix)
	}
	f.close(q.item, stateCompleted)
}

// finish ends the turn.
func (f *fold) finish(d *event.RunFinish) {
	f.begin()
	f.called = false
	isMessage := func(i *item) bool { return i.kind == itemMessage }
	if d.Result != nil && d.Result.Response != "" && !slices.ContainsFunc(f.items, isMessage) { // it has a form, or the log is not kept
		f.open = f.add(&item{kind: itemMessage}, messagePrefix)
		f.appendText(f.open, d.Result.Response)
	}
	if d.Termination.Status() == event.StatusSucceeded {
		f.closeText()
	} else if i := f.open; i != nil {
		f.open = nil
		f.close(i, stateIncomplete)
	}
	if f.segment == 0 && f.used == (event.Usage{}) || f.segment == 0 && d.Usage.Total() > f.used.Total() {
		f.used = d.Usage // with that of delegates
	}
	f.endSegment(&ending{finish: d, usage: f.used})
}

// endSegment ends the segment.
func (f *fold) endSegment(e *ending) {
	e.items, e.at = f.items, f.at
	f.ended = append(f.ended, e)
	if s := f.shown(); s != nil {
		s.end(e)
	}
	f.segment++
	f.segmentState = segmentState{}
}

// question returns what the turn asked in an interaction; nil if it did not.
func (c *calls) question(id string) *question {
	for _, q := range c.questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}
