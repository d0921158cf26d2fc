package aisdk

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	jsonpatch "github.com/evanphx/json-patch/v5"
)

// stream is an answer as sent to a page.
type stream struct {
	*call
	surfacekit.Narrated
	turn   *service.Turn
	record turnRecord
	// whole also sends the outputs of the page's tools.
	whole bool
	// stepped is set once the answer has a step: pages post again without one.
	stepped bool
	state   json.RawMessage
}

// streamTurn streams the answers of a turn from one to another.
func (c *call) streamTurn(turn *service.Turn, from, to int, whole bool) error {
	s := &stream{call: c, turn: turn, whole: whole}
	own.Decode(turn.Metadata, &s.record) // a turn of another protocol has no functions
	s.Narrator = surfacekit.NewNarrator(turn.ID, from, to, s)
	c.W.Header().Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	c.StreamTurn(turn, s)
	return nil
}

// object is a chunk.
type object map[string]any

// Begin begins the assistant's message, whose ID is the turn's.
func (s *stream) Begin() {
	id := event.ShownID(s.turn.ID)
	s.WriteEvent("start", object{"messageId": id, "messageMetadata": object{"agent": s.turn.AgentID, "turn": id}})
}

// Fail writes an error. When the server shuts down, the connection is cut and the page resumes.
func (s *stream) Fail(err error) bool {
	if errors.Is(err, server.ErrDraining) {
		return false
	}
	s.writeError(s.Describe(s.R, err).Message)
	return true
}

func (s *stream) writeError(text string) {
	s.WriteEvent("error", object{"errorText": text})
	s.writeDone()
}

func (s *stream) writeDone() {
	s.Out.WriteString("data: [DONE]\n\n")
	s.SetEnded()
}

// writeFinish ends the answer with a reason.
func (s *stream) writeFinish(reason string) {
	f := object{"finishReason": reason}
	var used event.Usage
	for _, u := range s.Usage {
		used.Add(u.Usage)
	}
	if used.Total() > 0 {
		f["messageMetadata"] = object{"usage": object{
			"inputTokens": used.Input, "outputTokens": used.Output, "totalTokens": used.Total(), "reasoningTokens": used.Reasoning, "cachedInputTokens": used.CacheRead,
		}}
	}
	s.WriteEvent("finish", f)
	s.writeDone()
}

// BeginStep begins a step.
func (s *stream) BeginStep(int) {
	s.stepped = true
	s.WriteEvent("start-step", object{})
}

// EndStep ends a step.
func (s *stream) EndStep(int) { s.WriteEvent("finish-step", object{}) }

func kindOf(p *surfacekit.Passage) (kind, id string) {
	if p.Thought {
		return "reasoning", "r" + strconv.Itoa(p.Number)
	}
	return "text", "t" + strconv.Itoa(p.Number)
}

// BeginText begins a text or a thought.
func (s *stream) BeginText(p *surfacekit.Passage) {
	kind, id := kindOf(p)
	s.WriteEvent(kind+"-start", object{"id": id})
}

// Text adds to a text or a thought.
func (s *stream) Text(p *surfacekit.Passage, delta string) {
	kind, id := kindOf(p)
	s.WriteEvent(kind+"-delta", object{"id": id, "delta": delta})
}

// EndText ends a text or a thought.
func (s *stream) EndText(p *surfacekit.Passage) {
	kind, id := kindOf(p)
	s.WriteEvent(kind+"-end", object{"id": id})
}

// writeCall writes a chunk about a call. The flags are the same in all chunks of a call.
func (s *stream) writeCall(c *surfacekit.Call, kind string, fields object) {
	fields["toolCallId"] = c.ID
	if !slices.Contains(s.record.Functions, c.Name) {
		fields["providerExecuted"] = true
	}
	if isDynamic(c.Name) {
		fields["dynamic"] = true
	}
	s.WriteEvent(kind, fields)
}

// isDynamic reports whether a tool was found at run time.
func isDynamic(tool string) bool { return strings.HasPrefix(tool, "mcp__") }

// BeginCall begins a call.
func (s *stream) BeginCall(c *surfacekit.Call) {
	s.writeCall(c, "tool-input-start", object{"toolName": c.Name})
}

// CallArguments adds to the input of a call.
func (s *stream) CallArguments(c *surfacekit.Call, delta string) {
	s.WriteEvent("tool-input-delta", object{"toolCallId": c.ID, "inputTextDelta": delta})
}

// EndCall ends the input of a call, which the page then runs if the tool is its own.
func (s *stream) EndCall(c *surfacekit.Call) {
	if !c.Dropped {
		s.writeCall(c, "tool-input-available", object{"toolName": c.Name, "input": json.RawMessage(c.Arguments)})
	}
}

// DropCall retracts a call.
func (s *stream) DropCall(c *surfacekit.Call) {
	s.writeCall(c, "tool-output-error", object{"errorText": "the call is not made: the answer of the model broke off"})
}

// CallOutput shows the output of a running tool.
func (s *stream) CallOutput(c *surfacekit.Call, delta string) {
	s.WriteEvent("data-tool-output", object{"data": object{"toolCallId": c.ID, "delta": delta}, "transient": true})
}

// CallResult shows the result of a call unless the page provided it.
func (s *stream) CallResult(c *surfacekit.Call, d *event.ToolCallDone) {
	text := strings.ToValidUTF8(d.Result.Text(), "\uFFFD")
	atClient, refused := false, false
	for _, q := range s.Questions {
		if q.Call == c {
			atClient, refused = atClient || q.RunsAtClient(), refused || q.Canceled && !q.IsWords() && !q.RunsAtClient()
		}
	}
	switch {
	case atClient && !s.whole:
	case refused:
		s.WriteEvent("tool-output-denied", object{"toolCallId": c.ID})
	case d.Outcome != event.CallSucceeded:
		s.writeCall(c, "tool-output-error", object{"errorText": text})
	default:
		s.writeCall(c, "tool-output-available", object{"output": outputOf(text)})
		s.showFiles(d)
	}
}

// outputOf returns the output of a call: JSON if it is an object or a list, otherwise text.
func outputOf(text string) any {
	if trimmed := strings.TrimSpace(text); (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")) && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	return text
}

// showFiles shows the images and files of a result.
func (s *stream) showFiles(d *event.ToolCallDone) {
	for i := range d.Result.Content {
		c := &d.Result.Content[i]
		address := surfacekit.DataURL(&model.Blob{MediaType: c.MediaType, Data: c.Data, URI: c.URI})
		if address != "" && c.MediaType != "" && c.Type != "text" && len(address) < server.MaxFrame {
			s.WriteEvent("file", object{"url": address, "mediaType": c.MediaType})
		}
	}
}

// Note shows activities, the state, artifacts and handoffs as application data.
func (s *stream) Note(ev *event.Event) {
	id := event.ShownID(ev.TurnID) + "/"
	switch d := ev.Data.(type) {
	case *event.ActivitySnapshot:
		s.WriteEvent("data-activity", object{"id": id + d.MessageID, "data": object{"type": d.ActivityType, "content": d.Content}})
	case *event.CustomPatch:
		if s.patchState(d.Patch) {
			s.WriteEvent("data-state", object{"id": "state", "data": s.state})
		}
	case *event.Artifact:
		s.WriteEvent("data-artifact", object{"id": d.ID, "data": d})
	case *event.Handoff:
		s.WriteEvent("data-handoff", object{"data": d})
	}
}

// patchState applies a change of the state. The first change has the whole state.
func (s *stream) patchState(patch []event.PatchOperation) bool {
	for i := range patch {
		if patch[i].Path == "" && patch[i].Value != nil {
			s.state, patch = patch[i].Value, patch[i+1:]
			break
		}
	}
	if s.state == nil || len(patch) == 0 {
		return s.state != nil
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		return false
	}
	operations, err := jsonpatch.DecodePatch(encoded)
	if err != nil {
		return false
	}
	next, err := operations.Apply(s.state)
	if err == nil {
		s.state = next
	}
	return err == nil
}

// Ask requests an approval or a text answer.
func (s *stream) Ask(q *surfacekit.Question) {
	switch {
	case q.RunsAtClient():
	case q.IsWords() || q.Call == nil:
		s.WriteEvent("text-start", object{"id": q.ID})
		s.WriteEvent("text-delta", object{"id": q.ID, "delta": cmp.Or(q.Message, q.Action)})
		s.WriteEvent("text-end", object{"id": q.ID})
	default:
		s.WriteEvent("tool-approval-request", object{"approvalId": q.ID, "toolCallId": q.Call.ID})
	}
}

// Wait ends the answer with the turn's questions.
func (s *stream) Wait([]*surfacekit.Question) {
	if s.IsLast() {
		s.writeFinish("tool-calls")
	}
}

// End ends the answer with the turn.
func (s *stream) End(d *event.RunFinish) {
	why := &d.Termination
	if !s.stepped {
		s.BeginStep(0)
		s.EndStep(0)
	}
	switch status := why.Status(); {
	case status == event.StatusCanceled:
		s.WriteEvent("abort", object{"reason": surfacekit.StatusMessage(why, false)})
		s.writeDone()
	case why.Code == string(model.Truncated):
		s.writeFinish("length")
	case status != event.StatusSucceeded:
		s.writeError(surfacekit.StatusMessage(why, false))
	case d.FinishReason == model.FinishContentFilter:
		s.writeFinish("content-filter")
	case d.FinishReason == model.FinishMaxTokens, why.CutShort():
		s.writeFinish("length")
	default:
		s.writeFinish("stop")
	}
}
