package agui

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// stream is a run as sent to a client.
type stream struct {
	*exchange
	surfacekit.Narrated
	// whole also sends the client's own messages.
	whole bool
	// state and messages belong to the thread and are sent first; nil sends none.
	state    json.RawMessage
	messages []json.RawMessage
	// end ends a run that follows no turn.
	end func(s *stream)
}

// streamTurn streams an answer of a turn.
func (x *exchange) streamTurn(turn *service.Turn, answer int) error {
	s := &stream{exchange: x}
	s.Narrator = surfacekit.NewNarrator(turn.ID, answer, answer, s)
	return s.serveStream(turn)
}

// serveStream responds with the stream. It begins with the state of the thread if the client has
// none.
func (s *stream) serveStream(turn *service.Turn) error {
	if s.in.appState() == nil {
		var err error
		if s.state, err = s.keptState(""); err != nil {
			return err
		}
	}
	s.StreamTurn(turn, s)
	return nil
}

// streamRefusal streams the reason a run does not begin.
func (x *exchange) streamRefusal(err error) error {
	failed := asRunError(err)
	if failed == nil {
		return err
	}
	s := &stream{exchange: x, end: func(s *stream) { s.writeError(failed.code, failed.message) }}
	return s.serveStream(nil)
}

// streamQuestions streams the open questions of a turn again.
func (x *exchange) streamQuestions(n *surfacekit.Narrator) error {
	s := &stream{exchange: x, end: func(s *stream) { s.writeFinish(x.in.waitOutcome(n.Open())) }}
	return s.serveStream(nil)
}

// streamThread streams the history of the thread and its current turn; nil if none is running.
func (x *exchange) streamThread(turn *service.Turn) error {
	s := &stream{exchange: x, whole: true, end: func(s *stream) { s.writeFinish(&outcome{Type: "success"}) }}
	history, err := x.readHistory(turn)
	if err != nil {
		return err
	}
	s.messages = history
	if turn == nil {
		return s.serveStream(nil)
	}
	n, err := x.ReadTurn(turn.ID)
	if err != nil {
		return err
	}
	last := n.Segment
	if turn.Status == service.Waiting {
		last = max(0, n.Segment-1)
	}
	s.end = nil
	s.Narrator = surfacekit.NewNarrator(turn.ID, 0, last, s)
	return s.serveStream(turn)
}

// Begin writes the first events.
func (s *stream) Begin() {
	begun := object{"threadId": s.in.ThreadID, "runId": s.in.RunID}
	if s.in.ProtocolVersion != nil {
		begun["protocolVersion"] = "1.0"
	}
	s.WriteEvent("RUN_STARTED", begun)
	if s.state != nil {
		s.WriteEvent("STATE_SNAPSHOT", object{"snapshot": s.state})
	}
	if s.messages != nil {
		s.WriteEvent("MESSAGES_SNAPSHOT", object{"messages": s.messages})
	}
	if s.end != nil {
		s.end(s)
	}
}

// Fail ends the stream early. Clients would take a cut connection for the end of their process.
func (s *stream) Fail(err error) bool {
	if errors.Is(err, server.ErrDraining) {
		s.writeError("server_shutdown", "the server shuts down; send the request again to follow the run")
		return true
	}
	f := describeFailure(s.Base, s.R, err)
	s.writeError(f.Code, f.Message)
	return true
}

func (s *stream) writeError(code, message string) {
	s.WriteEvent("RUN_ERROR", object{"message": message, "code": code})
	s.SetEnded()
}

// writeFinish ends the run; the outcome may be nil.
func (s *stream) writeFinish(o *outcome) {
	e := object{"threadId": s.in.ThreadID, "runId": s.in.RunID}
	if o != nil {
		e["outcome"] = o
	}
	if s.Narrator != nil && len(s.Usage) > 0 {
		e["usage"] = tokenUsage(s.Usage)
	}
	s.WriteEvent("RUN_FINISHED", e)
	s.SetEnded()
}

// usage is the usage of one model.
type usage struct {
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model,omitempty"`
	Input     int    `json:"inputTokens"`
	Output    int    `json:"outputTokens"`
	Total     int    `json:"totalTokens"`
	Reasoning int    `json:"reasoningTokens"`
	Cached    int    `json:"cachedInputTokens"`
	Written   int    `json:"cacheWriteInputTokens"`
}

func tokenUsage(list []surfacekit.ModelUsage) []usage {
	all := make([]usage, len(list))
	for i, u := range list {
		all[i] = usage{u.Provider, u.Model, u.Input, u.Output, u.Total(), u.Reasoning, u.CacheRead, u.CacheWrite}
	}
	return all
}

// BeginStep begins a step.
func (s *stream) BeginStep(step int) {
	s.WriteEvent("STEP_STARTED", object{"stepName": stepName(step)})
}

// EndStep ends a step.
func (s *stream) EndStep(step int) { s.WriteEvent("STEP_FINISHED", object{"stepName": stepName(step)}) }

func stepName(step int) string { return "step " + strconv.Itoa(step) }

// reasoningID returns the id of the message of a thought.
func reasoningID(p *surfacekit.Passage) string { return p.Message + "/r" + strconv.Itoa(p.Number) }

// BeginText begins a text or a thought.
func (s *stream) BeginText(p *surfacekit.Passage) {
	if p.Thought {
		s.WriteEvent("REASONING_START", object{"messageId": reasoningID(p)})
		s.WriteEvent("REASONING_MESSAGE_START", object{"messageId": reasoningID(p), "role": "reasoning"})
		return
	}
	s.WriteEvent("TEXT_MESSAGE_START", object{"messageId": p.Message, "role": "assistant"})
}

// Text adds to a text or a thought.
func (s *stream) Text(p *surfacekit.Passage, delta string) {
	if p.Thought {
		s.WriteEvent("REASONING_MESSAGE_CONTENT", object{"messageId": reasoningID(p), "delta": delta})
		return
	}
	s.WriteEvent("TEXT_MESSAGE_CONTENT", object{"messageId": p.Message, "delta": delta})
}

// EndText ends a text or a thought.
func (s *stream) EndText(p *surfacekit.Passage) {
	if p.Thought {
		s.WriteEvent("REASONING_MESSAGE_END", object{"messageId": reasoningID(p)})
		s.WriteEvent("REASONING_END", object{"messageId": reasoningID(p)})
		return
	}
	s.WriteEvent("TEXT_MESSAGE_END", object{"messageId": p.Message})
}

// BeginCall begins a call.
func (s *stream) BeginCall(c *surfacekit.Call) {
	s.WriteEvent("TOOL_CALL_START", object{"toolCallId": c.ID, "toolCallName": c.Name, "parentMessageId": c.Message})
}

// CallArguments adds to the arguments of a call.
func (s *stream) CallArguments(c *surfacekit.Call, delta string) {
	s.WriteEvent("TOOL_CALL_ARGS", object{"toolCallId": c.ID, "delta": delta})
}

// EndCall ends the arguments of a call.
func (s *stream) EndCall(c *surfacekit.Call) {
	s.WriteEvent("TOOL_CALL_END", object{"toolCallId": c.ID})
}

// DropCall retracts a call. Clients must not make it.
func (s *stream) DropCall(c *surfacekit.Call) {
	s.result(c, "the call is not made: the answer of the model broke off")
}

func (s *stream) result(c *surfacekit.Call, content string) {
	s.WriteEvent("TOOL_CALL_RESULT", object{"messageId": resultID(c.ID), "toolCallId": c.ID, "content": content, "role": "tool"})
}

// CallOutput shows the output of a running tool.
func (s *stream) CallOutput(c *surfacekit.Call, delta string) {
	s.WriteEvent("CUSTOM", object{"name": "tool_output", "value": object{"toolCallId": c.ID, "delta": delta}})
}

// CallResult shows the result of a call unless the client provided it.
func (s *stream) CallResult(c *surfacekit.Call, d *event.ToolCallDone) {
	if q := s.AsksClient(c.ID); q != nil && q.Answered && !q.Canceled && !s.whole {
		return
	}
	s.result(c, strings.ToValidUTF8(resultText(&d.Result), "\uFFFD"))
}

// Note shows activities, changes of the state, artifacts and handoffs.
func (s *stream) Note(ev *event.Event) {
	switch d := ev.Data.(type) {
	case *event.ActivitySnapshot:
		s.WriteEvent("ACTIVITY_SNAPSHOT", object{
			"messageId": event.ShownID(ev.TurnID) + "/a/" + d.MessageID, "activityType": d.ActivityType, "content": rawjson.Object(d.Content),
		})
	case *event.CustomPatch:
		s.patchState(d.Patch)
	case *event.Artifact:
		s.WriteEvent("CUSTOM", object{"name": "artifact", "value": d})
	case *event.Handoff:
		s.WriteEvent("CUSTOM", object{"name": "handoff", "value": d})
	}
}

func (s *stream) patchState(patch []event.PatchOperation) {
	if len(patch) > 0 && patch[0].Path == "" && patch[0].Value != nil {
		s.WriteEvent("STATE_SNAPSHOT", object{"snapshot": patch[0].Value})
		patch = patch[1:]
	}
	if len(patch) > 0 {
		s.WriteEvent("STATE_DELTA", object{"delta": patch})
	}
}

// Ask does nothing: the end of the run has the questions.
func (*stream) Ask(*surfacekit.Question) {}

// Wait ends the run with the turn's questions.
func (s *stream) Wait(asked []*surfacekit.Question) {
	if s.IsLast() {
		s.writeFinish(s.in.waitOutcome(asked))
	}
}

// End ends the run with the turn.
func (s *stream) End(d *event.RunFinish) {
	why := &d.Termination
	switch status := why.Status(); {
	case status == event.StatusSucceeded:
		s.writeFinish(&outcome{Type: "success"})
	case status == event.StatusCanceled && s.in.ProtocolVersion != nil:
		s.writeFinish(&outcome{Type: "cancelled"})
	case status == event.StatusCanceled:
		s.writeError("cancelled", surfacekit.StatusMessage(why, false))
	default:
		s.writeError(cmp.Or(why.Code, string(why.Type)), surfacekit.StatusMessage(why, false))
	}
}
