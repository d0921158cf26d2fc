package display

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// The types of events specific to this runtime. They come with a display.
const (
	// typeReasoningDelta extends the model's visible reasoning.
	typeReasoningDelta = "reasoning.delta"
	// TypeAssistantReset retracts the deltas since the event from_seq: the model is called again.
	TypeAssistantReset = "assistant.reset"
	// typeToolProgress is output of a running tool.
	typeToolProgress = "tool.progress"
	// TypeTurnWaiting is a turn that waits for answers, TypeTurnResumed one that continues.
	TypeTurnWaiting = "turn.waiting"
	TypeTurnResumed = "turn.resumed"
	// typeHandoff is another agent taking over the conversation.
	typeHandoff = "agent.handoff"
	// TypeDelegate is another agent beginning or ending a part of the turn.
	TypeDelegate = "agent.delegate"
	// typeArtifact is an artifact that the turn created.
	typeArtifact = "artifact.created"

	// runtimePrefix is the prefix of all other event types, which are private.
	runtimePrefix = "runtime."
)

// The visibilities of events.
const (
	// Public events are visible to everyone who may see the turn.
	Public = "public"
	// Private events are hidden by clients that do not know their type.
	Private = "private"
)

// Event is a turn's event for display.
type Event struct {
	// Seq numbers the events from 1.
	Seq        uint64
	Time       time.Time
	Type       string
	Visibility string
	// Data is a JSON object.
	Data json.RawMessage
	// Display is nil for an event that is not shown.
	Display *Display
}

// Terminal reports whether the event ends its turn.
func (e *Event) Terminal() bool {
	return e.Type == TypeTurnCompleted || e.Type == TypeTurnFailed || e.Type == TypeTurnCanceled
}

// Readable returns how a client for people shows the event: by its display or, if the display's
// kind or phase is unknown, by its type. d is nil for a type without a display. visible is false
// for a private event, whatever its display.
func (e *Event) Readable() (d *Display, visible bool) {
	switch {
	case e.Visibility != Public:
		return nil, false
	case e.Display != nil && e.Display.Known():
		return e.Display, true
	default:
		return For(e.Type, e.Data), true
	}
}

// statusRunning is the status of a turn that has begun.
const statusRunning = "running"

// Reader converts the records of a turn's log into events. It is a fold from the first record on:
// the same log always yields the same events with the same numbers. It is not safe for concurrent
// use.
type Reader struct {
	// Model is the model named in turn.started; it may be empty.
	Model string

	seq uint64
	// text and calls belong to the current model call. shown is its first event that a client may
	// have displayed; 0 if none.
	text  strings.Builder
	calls []*event.ToolCallReady
	shown uint64
}

// Read returns the events for a record: none, one, or more. A record of an unknown type becomes a
// private event.
func (r *Reader) Read(record *event.Record) ([]Event, error) {
	ev, err := record.Event()
	var unknown *event.UnknownTypeError
	switch {
	case errors.As(err, &unknown):
		return r.number(record.Time, draft{typ: runtimePrefix + string(record.Type), private: true, data: record.Data})
	case err != nil:
		return nil, err
	}
	return r.number(record.Time, r.draftsFor(record, ev.Data)...)
}

// ReadOutcome returns the event that ends a turn whose log was not kept to the end.
func (r *Reader) ReadOutcome(at time.Time, outcome *event.Outcome) ([]Event, error) {
	return r.number(at, r.finishDraft(outcome.RunFinish()))
}

// draft is an event without a number. A draft with a display keeps it; others get the display of
// their type.
type draft struct {
	typ     string
	private bool
	data    any
	display *Display
}

// number converts drafts to numbered events.
func (r *Reader) number(at time.Time, drafts ...draft) ([]Event, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	events := make([]Event, len(drafts))
	for i, d := range drafts {
		data, err := json.Marshal(d.data)
		if err != nil {
			return nil, err
		}
		r.seq++
		events[i] = Event{Seq: r.seq, Time: at, Type: d.typ, Visibility: Public, Data: data, Display: d.display}
		if d.private {
			events[i].Visibility = Private
		} else if d.display == nil {
			events[i].Display = For(d.typ, data)
		}
	}
	return events, nil
}

// draftsFor converts a record.
func (r *Reader) draftsFor(record *event.Record, data event.Data) []draft {
	switch d := data.(type) {
	case *event.RunStart:
		return r.startDrafts(record, d)
	case *event.StepStart, *event.StreamReset:
		return r.takeBack()
	case *event.TextDelta:
		r.text.WriteString(d.Delta)
		r.noteDelta()
		return []draft{{typ: TypeAssistantDelta, data: textData{d.Delta}}}
	case *event.ReasoningDelta:
		r.noteDelta()
		return []draft{{typ: typeReasoningDelta, data: textData{d.Delta}, display: &Display{Kind: KindReasoning, Phase: PhaseDelta, Text: d.Delta, Format: formatMarkdown}}}
	case *event.ToolCallReady:
		r.calls = append(r.calls, d)
	case *event.ToolCallCancel:
		r.dropCall(d.ID)
	case *event.InferenceComplete:
		return r.answerDrafts()
	case *event.ToolCallStreamDelta:
		return []draft{{typ: typeToolProgress, data: toolData{CallID: d.ID, Name: d.Name, Text: d.Delta}, display: &Display{
			Kind: KindTool, Phase: PhaseProgress, Action: actionRunning, Label: d.Name, Ref: d.ID, Text: d.Delta,
		}}}
	case *event.ToolCallDone:
		return doneDrafts(d)
	case *event.InteractionRequest:
		return []draft{{typ: typeInteractionRequested, data: askedData{d.ID, d.Request}}}
	case *event.ToolCallResumed:
		return []draft{{typ: typeInteractionResolved, data: answeredData{ID: d.TargetID, Action: d.Action, Resolution: d.Result}}}
	case *event.RunWaiting:
		return []draft{{typ: TypeTurnWaiting, data: d, display: turnDisplay("waiting for input")}}
	case *event.Handoff:
		return []draft{{typ: typeHandoff, data: d, display: &Display{Kind: KindStatus, Phase: PhaseProgress, Label: "handoff", Text: d.From + " → " + d.To}}}
	case *event.Artifact:
		return []draft{{typ: typeArtifact, data: d, display: &Display{Kind: KindStatus, Phase: PhaseProgress, Label: "artifact", Text: d.Name, Ref: d.ID}}}
	case *event.RunFinish:
		return []draft{r.finishDraft(d)}
	case *event.ActivitySnapshot:
		if delegate, ok := d.Delegate(); ok {
			return []draft{delegateDraft(d.MessageID, &delegate)}
		}
		if foreign, ok := foreignDraft(d); ok {
			return []draft{foreign}
		}
		return []draft{{typ: runtimePrefix + string(record.Type), private: true, data: record.Data}}
	case *event.StepEnd, *event.ToolCallStart, *event.ToolCallDelta, *event.ReasoningEncrypted:
		// Their content is in the following events, or is only for the vendor.
	default:
		return []draft{{typ: runtimePrefix + string(record.Type), private: true, data: record.Data}}
	}
	return nil
}

func turnDisplay(text string) *Display {
	return &Display{Kind: KindStatus, Phase: PhaseProgress, Label: labelTurn, Text: text}
}

// startDrafts converts the start or resumption of a turn.
func (r *Reader) startDrafts(record *event.Record, d *event.RunStart) []draft {
	if r.seq == 0 {
		return []draft{{typ: typeTurnStarted, data: startData{Status: statusRunning, SessionID: record.SessionID, Model: r.Model, AgentID: d.AgentID, Revision: d.Revision}}}
	}
	return append(r.takeBack(), draft{typ: TypeTurnResumed, data: startData{AgentID: d.AgentID}, display: turnDisplay("resumed")})
}

// delegateDraft converts the start or end of a delegate.
func delegateDraft(callID string, d *event.DelegateActivity) draft {
	shown := &Display{Kind: KindStatus, Phase: PhaseCompleted, Label: labelDelegate, Text: d.String(), ParentRef: callID}
	switch d.State {
	case event.DelegateRunning:
		shown.Phase = PhaseStarted
	case string(event.StatusWaiting):
		shown.Phase = PhaseProgress
	case string(event.StatusFailed):
		shown.Phase = PhaseFailed
	case string(event.StatusCanceled):
		shown.Phase = PhaseCanceled
	}
	return draft{typ: TypeDelegate, data: delegateData{callID, *d}, display: shown}
}

// noteDelta records that the next event is a delta.
func (r *Reader) noteDelta() {
	if r.shown == 0 {
		r.shown = r.seq + 1
	}
}

// takeBack retracts the output of the current model call, which is repeated.
func (r *Reader) takeBack() []draft {
	from := r.shown
	r.forgetPartial()
	if from == 0 {
		return nil
	}
	return []draft{{typ: TypeAssistantReset, data: resetData{from}, display: &Display{Kind: KindStatus, Phase: PhaseProgress, Label: "answer", Text: "the model is asked again"}}}
}

func (r *Reader) forgetPartial() {
	r.text.Reset()
	r.calls, r.shown = nil, 0
}

func (r *Reader) dropCall(id string) {
	for i, c := range r.calls {
		if c.ID == id {
			r.calls = append(r.calls[:i], r.calls[i+1:]...)
			return
		}
	}
}

// answerDrafts converts the end of a model call into its output and the calls that start.
func (r *Reader) answerDrafts() []draft {
	var list []draft
	if r.text.Len() > 0 {
		list = append(list, draft{typ: TypeAssistantCompleted, data: textData{r.text.String()}})
	}
	for _, c := range r.calls {
		list = append(list, draft{typ: typeToolStarted, data: toolData{CallID: c.ID, Name: c.Name, Arguments: rawjson.Object(c.Arguments)}})
	}
	r.forgetPartial()
	return list
}

// doneDrafts converts the end of a call. A waiting call has not ended.
func doneDrafts(d *event.ToolCallDone) []draft {
	data := toolData{CallID: d.ID, Name: d.Name, DurationMS: d.DurationMS, Artifact: d.Artifact}
	switch d.Outcome {
	case event.CallSuspended:
		return nil
	case event.CallSucceeded:
		data.Status, data.Output = string(event.StatusSucceeded), textValue(d.Result.Text())
		return []draft{{typ: typeToolCompleted, data: data}}
	default:
		data.Status, data.Error = string(d.Outcome), d.Result.Text()
		return []draft{{typ: typeToolFailed, data: data}}
	}
}

// textValue returns a text that is a JSON object or list unchanged, and any other text as a JSON
// string.
func textValue(text string) json.RawMessage {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if json.Valid([]byte(trimmed)) {
			return json.RawMessage(trimmed)
		}
	}
	quoted, _ := json.Marshal(text) // a string
	return quoted
}

// finishDraft returns the end of a turn, or of a delegate.
func (r *Reader) finishDraft(d *event.RunFinish) draft {
	if d.Status == event.StatusWaiting { // a delegate, which is resumed with its call
		return draft{typ: TypeTurnWaiting, data: struct{}{}, display: turnDisplay("waiting for input")}
	}
	why := &d.Termination
	switch why.Status() {
	case event.StatusSucceeded:
		return draft{typ: TypeTurnCompleted, data: finishData{Status: string(event.StatusSucceeded), Usage: &d.Usage, Cost: d.Cost, Steps: d.Steps, Reason: why.Code}}
	case event.StatusCanceled:
		return draft{typ: TypeTurnCanceled, data: finishData{Status: string(event.StatusCanceled), Reason: why.Detail, Usage: &d.Usage, Cost: d.Cost, Steps: d.Steps}}
	default:
		return draft{typ: TypeTurnFailed, data: finishData{
			Status: string(event.StatusFailed), Error: FailureText(why), Code: why.Code, Usage: &d.Usage, Cost: d.Cost, Steps: d.Steps,
		}}
	}
}

// FailureText returns a readable reason why a turn failed.
func FailureText(why *event.Termination) string {
	if why.Detail != "" {
		return why.Detail
	}
	if why.Code != "" {
		return string(why.Type) + ": " + why.Code
	}
	return string(why.Type)
}

// The data of the events.
type (
	textData struct {
		Text string `json:"text"`
	}
	startData struct {
		Status    string `json:"status,omitempty"`
		SessionID string `json:"session_id,omitempty"`
		Model     string `json:"model,omitempty"`
		AgentID   string `json:"agent_id"`
		Revision  uint64 `json:"revision,omitempty"`
	}
	resetData struct {
		FromSeq uint64 `json:"from_seq"`
	}
	toolData struct {
		CallID     string          `json:"tool_call_id"`
		Name       string          `json:"tool_name"`
		Arguments  json.RawMessage `json:"arguments,omitempty"`
		Status     string          `json:"status,omitempty"`
		Text       string          `json:"text,omitempty"`
		Output     json.RawMessage `json:"output,omitempty"`
		Error      string          `json:"error,omitempty"`
		DurationMS int64           `json:"duration_ms,omitempty"`
		Artifact   string          `json:"artifact_id,omitempty"`
	}
	delegateData struct {
		CallID string `json:"tool_call_id"`
		event.DelegateActivity
	}
	askedData struct {
		InteractionID string `json:"interaction_id"`
		interaction.Request
	}
	answeredData struct {
		ID         string          `json:"interaction_id"`
		Action     string          `json:"action"`
		Resolution json.RawMessage `json:"resolution,omitempty"`
	}
	finishData struct {
		Status string       `json:"status"`
		Error  string       `json:"error,omitempty"`
		Code   string       `json:"code,omitempty"`
		Reason string       `json:"reason,omitempty"`
		Usage  *event.Usage `json:"usage,omitempty"`
		Cost   *event.Cost  `json:"cost,omitempty"`
		Steps  int          `json:"steps,omitempty"`
	}
)
