package openai

import (
	"encoding/json"
	"slices"

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
	byOutput map[vendorhttp.Number]*call
	delta    responsesDelta
	usage    model.Usage

	text, reasoning place
}

// place is where a piece of text belongs in the vendor's list of output.
type place struct {
	seen          bool
	output, piece vendorhttp.Number
}

func newResponsesStream(req *model.Request) *responsesStream {
	return &responsesStream{calls: newCalls(req), byOutput: map[vendorhttp.Number]*call{}}
}

type responsesDelta struct {
	OutputIndex  vendorhttp.Number `json:"output_index"`
	ContentIndex vendorhttp.Number `json:"content_index"`
	SummaryIndex vendorhttp.Number `json:"summary_index"`
	Delta        string            `json:"delta"`
}

type responsesArguments struct {
	OutputIndex vendorhttp.Number `json:"output_index"`
	Name        string            `json:"name"`
	Arguments   argumentsText     `json:"arguments"`
}

type responsesItem struct {
	OutputIndex vendorhttp.Number `json:"output_index"`
	Item        outputItem        `json:"item"`
}

// outputItem is one item of an answer. Content is that of a message, Summary that of
// a piece of reasoning; both come only with the end of the item.
type outputItem struct {
	Type             string        `json:"type"`
	ID               looseText     `json:"id"`
	CallID           looseText     `json:"call_id"`
	Name             string        `json:"name"`
	Arguments        argumentsText `json:"arguments"`
	EncryptedContent looseText     `json:"encrypted_content"`
	Content          outputTexts   `json:"content"`
	Summary          outputTexts   `json:"summary"`
}

// outputTexts are the texts of an item, each a text or a refusal.
type outputTexts []struct {
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

type responsesResult struct {
	Response responsesAnswer `json:"response"`
}

// responsesAnswer is a whole answer, as the last event repeats it.
type responsesAnswer struct {
	ID                looseText                            `json:"id"`
	Error             json.RawMessage                      `json:"error"`
	Output            []outputItem                         `json:"output"`
	IncompleteDetails vendorhttp.Detail[incompleteDetails] `json:"incomplete_details"`
	Usage             vendorhttp.Detail[*responsesUsage]   `json:"usage"`
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

type responsesUsage struct {
	InputTokens         vendorhttp.Number                `json:"input_tokens"`
	InputTokensDetails  vendorhttp.Detail[promptDetails] `json:"input_tokens_details"`
	OutputTokens        vendorhttp.Number                `json:"output_tokens"`
	OutputTokensDetails vendorhttp.Detail[outputDetails] `json:"output_tokens_details"`
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
	case "response":
		return s.readWhole(ev.Data, out)
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
		Type   string    `json:"type"`
		Object looseText `json:"object"`
	}
	err := vendorhttp.DecodeEvent(ev.Data, &typed)
	if typed.Type == "" {
		typed.Type = string(typed.Object) // a whole answer has no type
	}
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
func (p *place) moveTo(t model.EventType, output, piece vendorhttp.Number, out *vendorhttp.Batch) {
	if p.seen && (p.output != output || p.piece != piece) {
		out.AddDelta(t, paragraph)
	}
	*p = place{seen: true, output: output, piece: piece}
}

func (s *responsesStream) noteID(data []byte) error {
	var created struct {
		Response struct {
			ID looseText `json:"id"`
		} `json:"response"`
	}
	if err := vendorhttp.DecodeEvent(data, &created); err != nil {
		return err
	}
	s.calls.seed = string(created.Response.ID) + "\x00" + s.calls.seed
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
	s.calls.describeCall(k, string(ev.Item.CallID), ev.Item.Name, out)
	return nil
}

// callAt returns the call at a place of the output; a server may have left out
// its announcement.
func (s *responsesStream) callAt(output vendorhttp.Number) *call {
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
	case "message":
		if !s.text.seen || s.text.output != ev.OutputIndex {
			s.addMessage(ev.OutputIndex, item, out)
		}
	case "reasoning":
		addEncrypted(item, out)
	case "function_call":
		return s.endFunctionCall(ev.OutputIndex, item, out)
	}
	return nil
}

// addEncrypted adds the opaque form of a piece of reasoning, if it has one.
func addEncrypted(item *outputItem, out *vendorhttp.Batch) {
	if item.EncryptedContent != "" {
		out.Add(model.Event{Type: model.EventReasoningEncrypted, ID: string(item.ID), Delta: string(item.EncryptedContent)})
	}
}

func (s *responsesStream) endFunctionCall(output vendorhttp.Number, item *outputItem, out *vendorhttp.Batch) error {
	k := s.callAt(output)
	if k.ended && k.vendorID != "" && item.CallID != "" && k.vendorID != string(item.CallID) {
		// Another call at a place that was taken: a server that does not
		// count its items.
		k = s.calls.openCall()
		s.byOutput[output] = k
	}
	s.calls.describeCall(k, string(item.CallID), item.Name, out)
	return s.calls.endCall(k, string(item.Arguments), out)
}

// endKnownCall ends the call of an item, which is a new one if no call has its id.
func (s *responsesStream) endKnownCall(item *outputItem, out *vendorhttp.Batch) error {
	at := slices.IndexFunc(s.calls.list, func(k *call) bool { return k.vendorID == string(item.CallID) })
	k := (*call)(nil)
	if at >= 0 {
		k = s.calls.list[at]
	} else {
		k = s.calls.openCall()
	}
	s.calls.describeCall(k, string(item.CallID), item.Name, out)
	return s.calls.endCall(k, string(item.Arguments), out)
}

// readWhole reads an answer that was not streamed.
func (s *responsesStream) readWhole(data []byte, out *vendorhttp.Batch) (bool, error) {
	var answer responsesAnswer
	if err := vendorhttp.DecodeEvent(data, &answer); err != nil {
		return false, err
	}
	if !isNull(answer.Error) {
		return false, parseErrorValue(answer.Error).modelError()
	}
	if answer.IncompleteDetails.Value.Reason != "" {
		if err := s.addMissing(&answer, out); err != nil {
			return false, err
		}
		return s.cutOff(&answer, out)
	}
	return s.finishWhole(&answer, out)
}

// addMessage adds the text of a whole message.
func (s *responsesStream) addMessage(at vendorhttp.Number, item *outputItem, out *vendorhttp.Batch) {
	for _, part := range item.Content {
		if text := part.Text + part.Refusal; text != "" {
			s.text.moveTo(model.EventText, at, 0, out)
			out.AddDelta(model.EventText, text)
		}
	}
}

// addMissing adds the messages and calls of a whole answer of which nothing was streamed.
func (s *responsesStream) addMissing(answer *responsesAnswer, out *vendorhttp.Batch) error {
	hasText, hasCalls, last := s.text.seen, len(s.calls.list) > 0, s.text.output
	for i := range answer.Output {
		item, at := &answer.Output[i], vendorhttp.Number(i)
		switch {
		case item.Type == "message" && (!hasText || at > last && s.text.output < at):
			s.addMessage(at, item, out)
		case item.Type == "reasoning" && !hasText && !hasCalls:
			for j, part := range item.Summary {
				s.reasoning.moveTo(model.EventReasoning, at, vendorhttp.Number(j), out)
				out.AddDelta(model.EventReasoning, part.Text)
			}
			addEncrypted(item, out)
		case item.Type == "function_call" && !hasCalls:
			if err := s.endFunctionCall(at, item, out); err != nil {
				return err
			}
		case item.Type == "function_call" && item.CallID != "":
			if err := s.endKnownCall(item, out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *responsesStream) completeAnswer(data []byte, out *vendorhttp.Batch) (bool, error) {
	var ev responsesResult
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return false, err
	}
	return s.finishWhole(&ev.Response, out)
}

// finishWhole ends a complete answer.
func (s *responsesStream) finishWhole(answer *responsesAnswer, out *vendorhttp.Batch) (bool, error) {
	if err := s.addMissing(answer, out); err != nil {
		return false, err
	}
	if err := s.calls.endAll(out); err != nil {
		return false, err
	}
	reason := model.FinishStop
	if s.calls.anyStarted() {
		reason = model.FinishToolCalls
	}
	s.finishAnswer(reason, answer.Usage.Value, out)
	return true, nil
}

// endIncomplete ends an answer that the vendor cut off. The calls it may have cut
// stay without an end.
func (s *responsesStream) endIncomplete(data []byte, out *vendorhttp.Batch) (bool, error) {
	var ev responsesResult
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return false, err
	}
	return s.cutOff(&ev.Response, out)
}

// cutOff ends an answer for the reason that the vendor gives.
func (s *responsesStream) cutOff(answer *responsesAnswer, out *vendorhttp.Batch) (bool, error) {
	switch reason := answer.IncompleteDetails.Value.Reason; reason {
	case "max_output_tokens":
		s.finishAnswer(model.FinishMaxTokens, answer.Usage.Value, out)
		return true, nil
	case "content_filter":
		s.finishAnswer(model.FinishContentFilter, answer.Usage.Value, out)
		return true, nil
	default:
		return false, &model.Error{Class: model.Provider, Message: "the server ended the answer early: " + reason}
	}
}

func (s *responsesStream) finishAnswer(reason model.FinishReason, usage *responsesUsage, out *vendorhttp.Batch) {
	ev := model.Event{Type: model.EventFinish, Reason: reason}
	if usage != nil {
		s.usage = model.Usage{
			Input:      int(usage.InputTokens),
			Output:     int(usage.OutputTokens),
			CacheRead:  int(usage.InputTokensDetails.Value.CachedTokens),
			CacheWrite: int(usage.InputTokensDetails.Value.CacheWriteTokens),
			Reasoning:  int(usage.OutputTokensDetails.Value.ReasoningTokens),
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
