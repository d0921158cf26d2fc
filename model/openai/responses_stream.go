package openai

import (
	"encoding/json"
	"strconv"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// paragraph keeps apart what the vendor streams as separate texts.
const paragraph = "\n\n"

// responsesStream translates the stream of the Responses API. It decodes only
// the events it needs, and of those only the fields: the SDK's types cost a
// multiple, and the first events repeat the whole request.
type responsesStream struct {
	calls calls
	// byOutput finds the call at a place of the vendor's list of output items.
	byOutput map[int]*call
	delta    responsesDelta
	usage    model.Usage

	text, reasoning place
}

// place is where a piece of text belongs in the vendor's list of output.
type place struct {
	seen          bool
	output, piece int
}

func newResponsesStream(req *model.Request) *responsesStream {
	return &responsesStream{calls: calls{seed: strconv.Itoa(len(req.Messages))}, byOutput: map[int]*call{}}
}

type responsesDelta struct {
	OutputIndex  int    `json:"output_index"`
	ContentIndex int    `json:"content_index"`
	SummaryIndex int    `json:"summary_index"`
	Delta        string `json:"delta"`
}

type responsesArguments struct {
	OutputIndex int           `json:"output_index"`
	Name        string        `json:"name"`
	Arguments   argumentsText `json:"arguments"`
}

type responsesItem struct {
	OutputIndex int `json:"output_index"`
	Item        struct {
		Type             string        `json:"type"`
		ID               string        `json:"id"`
		CallID           string        `json:"call_id"`
		Name             string        `json:"name"`
		Arguments        argumentsText `json:"arguments"`
		EncryptedContent string        `json:"encrypted_content"`
	} `json:"item"`
}

type responsesResult struct {
	Response struct {
		ID                string          `json:"id"`
		Error             json.RawMessage `json:"error"`
		IncompleteDetails struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Usage *responsesUsage `json:"usage"`
	} `json:"response"`
}

type responsesUsage struct {
	InputTokens        int `json:"input_tokens"`
	InputTokensDetails struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens        int `json:"output_tokens"`
	OutputTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (s *responsesStream) translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (bool, error) {
	if err := nameEvent(ev); err != nil {
		return false, err
	}
	switch string(ev.Name) {
	case "response.output_text.delta", "response.refusal.delta":
		return false, s.addText(ev.Data, out)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return false, s.addReasoning(ev.Data, out)
	case "response.output_item.added":
		return false, s.addItem(ev.Data, out)
	case "response.function_call_arguments.delta":
		return false, s.addArguments(ev.Data, out)
	case "response.function_call_arguments.done":
		return false, s.endArguments(ev.Data, out)
	case "response.output_item.done":
		return false, s.endItem(ev.Data, out)
	case "response.created":
		return false, s.noteID(ev.Data)
	case "response.completed":
		return s.completeAnswer(ev.Data, out)
	case "response.incomplete":
		return s.endIncomplete(ev.Data, out)
	case "response.failed":
		return false, failedResponse(ev.Data)
	case "error":
		return false, errorEvent(ev.Data)
	case "":
		// A server that breaks off with an error of its own names no event.
		if r := parseRefusal(ev.Data); r != nil {
			return false, r.modelError()
		}
	}
	return false, nil
}

func (s *responsesStream) end(bool, *vendorhttp.Batch) (bool, error) { return false, nil }

// nameEvent makes sure that an event has its name; some servers give it only in
// the data.
func nameEvent(ev *vendorhttp.ServerEvent) error {
	if len(ev.Name) > 0 && string(ev.Name) != "message" {
		return nil
	}
	var typed struct {
		Type string `json:"type"`
	}
	err := vendorhttp.DecodeEvent(ev.Data, &typed)
	ev.Name = append(ev.Name[:0], typed.Type...)
	return err
}

func (s *responsesStream) addText(data []byte, out *vendorhttp.Batch) error {
	s.delta = responsesDelta{}
	if err := vendorhttp.DecodeEvent(data, &s.delta); err != nil || s.delta.Delta == "" {
		return err
	}
	// Two messages of one answer are two paragraphs; the parts of one message
	// are one text.
	s.text.moveTo(model.EventText, s.delta.OutputIndex, 0, out)
	out.AddDelta(model.EventText, s.delta.Delta)
	return nil
}

func (s *responsesStream) addReasoning(data []byte, out *vendorhttp.Batch) error {
	s.delta = responsesDelta{}
	if err := vendorhttp.DecodeEvent(data, &s.delta); err != nil || s.delta.Delta == "" {
		return err
	}
	// A piece is one of a summary or of the content, so one of the two is 0.
	s.reasoning.moveTo(model.EventReasoning, s.delta.OutputIndex, s.delta.SummaryIndex+s.delta.ContentIndex, out)
	out.AddDelta(model.EventReasoning, s.delta.Delta)
	return nil
}

// moveTo puts a paragraph's end between texts of different places.
func (p *place) moveTo(t model.EventType, output, piece int, out *vendorhttp.Batch) {
	if p.seen && (p.output != output || p.piece != piece) {
		out.AddDelta(t, paragraph)
	}
	*p = place{seen: true, output: output, piece: piece}
}

func (s *responsesStream) noteID(data []byte) error {
	var created struct {
		Response struct {
			ID string `json:"id"`
		} `json:"response"`
	}
	if err := vendorhttp.DecodeEvent(data, &created); err != nil {
		return err
	}
	s.calls.seed = created.Response.ID + "\x00" + s.calls.seed
	return nil
}

func (s *responsesStream) addItem(data []byte, out *vendorhttp.Batch) error {
	var ev responsesItem
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil || ev.Item.Type != "function_call" {
		return err
	}
	k := s.byOutput[ev.OutputIndex]
	if k == nil || k.name != "" {
		k = s.calls.openCall()
		s.byOutput[ev.OutputIndex] = k
	}
	k.initial = string(ev.Item.Arguments)
	s.calls.describeCall(k, ev.Item.CallID, ev.Item.Name, out)
	return nil
}

// callAt returns the call at a place of the output; a server may have left out
// its announcement.
func (s *responsesStream) callAt(output int) *call {
	k := s.byOutput[output]
	if k == nil {
		k = s.calls.openCall()
		s.byOutput[output] = k
	}
	return k
}

func (s *responsesStream) addArguments(data []byte, out *vendorhttp.Batch) error {
	s.delta = responsesDelta{}
	if err := vendorhttp.DecodeEvent(data, &s.delta); err != nil {
		return err
	}
	s.calls.addArguments(s.callAt(s.delta.OutputIndex), s.delta.Delta, out)
	return nil
}

func (s *responsesStream) endArguments(data []byte, out *vendorhttp.Batch) error {
	var ev responsesArguments
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return err
	}
	k := s.callAt(ev.OutputIndex)
	s.calls.describeCall(k, "", ev.Name, out)
	if k.name == "" {
		// The item's end will tell the name.
		if len(k.held) == 0 {
			k.held = []byte(ev.Arguments)
		}
		return nil
	}
	return s.calls.endCall(k, string(ev.Arguments), out)
}

func (s *responsesStream) endItem(data []byte, out *vendorhttp.Batch) error {
	var ev responsesItem
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return err
	}
	switch item := &ev.Item; item.Type {
	case "reasoning":
		if item.EncryptedContent != "" {
			out.Add(model.Event{Type: model.EventReasoningEncrypted, ID: item.ID, Delta: item.EncryptedContent})
		}
	case "function_call":
		k := s.callAt(ev.OutputIndex)
		if k.ended && k.vendorID != "" && item.CallID != "" && k.vendorID != item.CallID {
			// Another call at a place that was taken: a server that does not
			// count its items.
			k = s.calls.openCall()
			s.byOutput[ev.OutputIndex] = k
		}
		s.calls.describeCall(k, item.CallID, item.Name, out)
		return s.calls.endCall(k, string(item.Arguments), out)
	}
	return nil
}

func (s *responsesStream) completeAnswer(data []byte, out *vendorhttp.Batch) (bool, error) {
	var ev responsesResult
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return false, err
	}
	if err := s.calls.endAll(out); err != nil {
		return false, err
	}
	reason := model.FinishStop
	if s.calls.anyStarted() {
		reason = model.FinishToolCalls
	}
	s.finishAnswer(reason, ev.Response.Usage, out)
	return true, nil
}

// endIncomplete ends an answer that the vendor cut off. The calls it may have cut
// stay without an end.
func (s *responsesStream) endIncomplete(data []byte, out *vendorhttp.Batch) (bool, error) {
	var ev responsesResult
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return false, err
	}
	switch reason := ev.Response.IncompleteDetails.Reason; reason {
	case "max_output_tokens":
		s.finishAnswer(model.FinishMaxTokens, ev.Response.Usage, out)
		return true, nil
	case "content_filter":
		s.finishAnswer(model.FinishContentFilter, ev.Response.Usage, out)
		return true, nil
	default:
		return false, &model.Error{Class: model.Provider, Message: "the server ended the answer early: " + reason}
	}
}

func (s *responsesStream) finishAnswer(reason model.FinishReason, usage *responsesUsage, out *vendorhttp.Batch) {
	ev := model.Event{Type: model.EventFinish, Reason: reason}
	if usage != nil {
		s.usage = model.Usage{
			Input:      usage.InputTokens,
			Output:     usage.OutputTokens,
			CacheRead:  usage.InputTokensDetails.CachedTokens,
			CacheWrite: usage.InputTokensDetails.CacheWriteTokens,
			Reasoning:  usage.OutputTokensDetails.ReasoningTokens,
		}.Reconciled()
		ev.Usage = &s.usage
	}
	out.Add(ev)
}

func failedResponse(data []byte) error {
	var ev responsesResult
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return err
	}
	r := &refusal{}
	if !isNull(ev.Response.Error) {
		r = parseErrorValue(ev.Response.Error)
	}
	return r.modelError()
}

// errorEvent reads an error event: its fields stand by themselves, as the
// vendor documents them, or below error, as it also sends them.
func errorEvent(data []byte) error {
	r := parseRefusal(data)
	if r == nil {
		r = &refusal{}
	}
	if r.kind == "error" {
		r.kind = "" // that is the event's type, not the error's
	}
	return r.modelError()
}
