package openai

import (
	"encoding/json"
	"reflect"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// chatStream translates the stream of Chat Completions. Usage arrives after
// the reason for the end, so the answer is complete only when the stream is.
type chatStream struct {
	calls   calls
	byIndex map[vendorhttp.Number]*call
	last    *call
	begun   bool
	// had is what deltas have carried so far.
	had    contentKinds
	reason string
	usage  *model.Usage
}

// contentKinds is which kinds of content an answer has.
type contentKinds struct{ text, reasoning, calls bool }

// add adds the kinds of a delta.
func (c *contentKinds) add(d *chatDelta) {
	c.text = c.text || d.Content != "" || d.Refusal != ""
	c.reasoning = c.reasoning || d.ReasoningContent != "" || d.Reasoning != ""
	c.calls = c.calls || len(d.ToolCalls) > 0 || d.FunctionCall != nil
}

func newChatStream(req *model.Request) *chatStream {
	return &chatStream{calls: newCalls(req), byIndex: map[vendorhttp.Number]*call{}}
}

type chatChunk struct {
	ID      looseText                     `json:"id"`
	Object  looseText                     `json:"object"`
	Error   json.RawMessage               `json:"error"`
	Choices []chatChoice                  `json:"choices"`
	Usage   vendorhttp.Detail[*chatUsage] `json:"usage"`
}

type chatChoice struct {
	Index        vendorhttp.Number `json:"index"`
	FinishReason looseText         `json:"finish_reason"`
	Delta        chatDelta         `json:"delta"`
	// Message is a whole answer, or what some servers call a delta.
	Message *chatDelta `json:"message"`
}

type chatDelta struct {
	Content looseContent `json:"content"`
	Refusal looseText    `json:"refusal"`
	// ReasoningContent and Reasoning are not the vendor's; servers of models
	// that think aloud have one or the other, or both with the same text.
	ReasoningContent looseText   `json:"reasoning_content"`
	Reasoning        looseText   `json:"reasoning"`
	ToolCalls        []chatPiece `json:"tool_calls"`
	// FunctionCall is the only call of an answer in the first form of the API.
	FunctionCall *chatCallPiece `json:"function_call"`
}

// chatPiece is a piece of a tool call.
type chatPiece struct {
	Index    *vendorhttp.Number `json:"index"`
	ID       looseText          `json:"id"`
	Function chatCallPiece      `json:"function"`
	// ExtraContent is opaque, and belongs to the call when it is sent back.
	ExtraContent json.RawMessage `json:"extra_content"`
}

type chatCallPiece struct {
	Name      string        `json:"name"`
	Arguments argumentsText `json:"arguments"`
}

type chatUsage struct {
	PromptTokens vendorhttp.Number `json:"prompt_tokens"`
	// PromptCacheHitTokens counts the cached tokens at DeepSeek.
	PromptCacheHitTokens vendorhttp.Number                `json:"prompt_cache_hit_tokens"`
	PromptTokensDetails  vendorhttp.Detail[promptDetails] `json:"prompt_tokens_details"`
	CompletionTokens     vendorhttp.Number                `json:"completion_tokens"`

	CompletionTokensDetails vendorhttp.Detail[outputDetails] `json:"completion_tokens_details"`
}

type promptDetails struct {
	CachedTokens     vendorhttp.Number `json:"cached_tokens"`
	CacheWriteTokens vendorhttp.Number `json:"cache_write_tokens"`
}

type outputDetails struct {
	ReasoningTokens vendorhttp.Number `json:"reasoning_tokens"`
}

// looseContent is a text, or a list of parts with one each, as some servers
// stream the answers of models that think.
type looseContent string

// UnmarshalJSON reads the text. A value that may hold text in an unknown form is an error.
func (c *looseContent) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '[':
	case '{':
		return &json.UnmarshalTypeError{Value: "object", Field: "content", Type: reflect.TypeFor[string]()}
	default:
		return (*looseText)(c).UnmarshalJSON(data)
	}
	var parts []struct {
		Text looseText `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for i := range parts {
		*c += looseContent(parts[i].Text)
	}
	return nil
}

// argumentsText is the arguments of a call: a text that holds JSON, as the
// vendor has it, or the JSON itself.
type argumentsText string

// UnmarshalJSON reads the arguments.
func (a *argumentsText) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*a = argumentsText(text)
	case 'n': // null
		*a = ""
	default:
		*a = argumentsText(data)
	}
	return nil
}

func (s *chatStream) translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (bool, error) {
	if string(ev.Name) == "error" {
		return false, errorEvent(ev.Data)
	}
	var chunk chatChunk
	if err := vendorhttp.DecodeEvent(ev.Data, &chunk); err != nil {
		return false, err
	}
	if !isNull(chunk.Error) {
		return false, parseErrorValue(chunk.Error).modelError()
	}
	if chunk.Object == "error" {
		return false, errorEvent(ev.Data)
	}
	if !s.begun {
		s.begun = true
		s.calls.seed = string(chunk.ID) + "\x00" + s.calls.seed
	}
	if chunk.Usage.Value != nil {
		s.usage = chunk.Usage.Value.toUsage()
	}
	for i := range chunk.Choices {
		// Only one choice is ever asked for.
		if chunk.Choices[i].Index == 0 {
			s.addChoice(&chunk.Choices[i], out)
		}
	}
	if ev.Last && s.reason == "" && len(out.Events) > 0 {
		s.reason = string(model.FinishStop)
	}
	return false, nil
}

func (s *chatStream) addChoice(c *chatChoice, out *vendorhttp.Batch) {
	s.had.add(&c.Delta)
	s.addDelta(&c.Delta, out)
	if c.Message != nil {
		s.addDelta(s.missingFrom(c.Message), out)
	}
	if c.FinishReason != "" {
		s.reason = string(c.FinishReason)
	}
}

// missingFrom returns what a whole message has of which the deltas had nothing.
func (s *chatStream) missingFrom(message *chatDelta) *chatDelta {
	missing := *message
	if s.had.text {
		missing.Content, missing.Refusal = "", ""
	}
	if s.had.reasoning {
		missing.Reasoning, missing.ReasoningContent = "", ""
	}
	if s.had.calls {
		missing.ToolCalls, missing.FunctionCall = nil, nil
	}
	return &missing
}

// addDelta adds a piece of the answer.
func (s *chatStream) addDelta(d *chatDelta, out *vendorhttp.Batch) {
	if d.ReasoningContent != "" {
		out.Add(model.Event{Type: model.EventReasoning, Name: reasoningContent, Delta: string(d.ReasoningContent)})
	} else if d.Reasoning != "" {
		out.Add(model.Event{Type: model.EventReasoning, Name: reasoningField, Delta: string(d.Reasoning)})
	}
	out.AddDelta(model.EventText, string(d.Content))
	out.AddDelta(model.EventText, string(d.Refusal))
	for i := range d.ToolCalls {
		s.addPiece(&d.ToolCalls[i], out)
	}
	if d.FunctionCall != nil {
		s.addPiece(&chatPiece{Function: *d.FunctionCall}, out)
	}
}

func (s *chatStream) addPiece(p *chatPiece, out *vendorhttp.Batch) {
	k := s.callOf(p)
	s.last = k
	if !isNull(p.ExtraContent) {
		k.extra = p.ExtraContent
	}
	s.calls.describeCall(k, string(p.ID), p.Function.Name, out)
	s.calls.addArguments(k, string(p.Function.Arguments), out)
}

// callOf returns the call that a piece belongs to. Servers differ: some leave
// out the index, some give all calls the same.
func (s *chatStream) callOf(p *chatPiece) *call {
	k := s.last
	if p.Index != nil && (s.byIndex[*p.Index] != nil || !s.isTail(p)) {
		k = s.byIndex[*p.Index]
	}
	if k == nil || p.beginsAfter(k) && !s.calls.continuesName(k, p.Function.Name) {
		k = s.calls.openCall()
	}
	if k.vendorID == "" {
		k.vendorID = string(p.ID)
	}
	if p.Index != nil {
		s.byIndex[*p.Index] = k
	}
	return k
}

// isTail reports whether a piece at an unknown index can only be the tail of the last
// call's arguments.
func (s *chatStream) isTail(p *chatPiece) bool {
	return p.ID == "" && p.Function.Name == "" && s.last != nil && s.last.arguments.isOpen()
}

// beginsAfter reports whether a piece that seems to belong to the call k
// begins another one. Pieces that only continue a call have no name, or repeat
// it.
func (p *chatPiece) beginsAfter(k *call) bool {
	name := p.Function.Name
	switch {
	case name == "" || k.name == "":
		return false
	case name != k.name || p.ID != "" && k.vendorID != "" && string(p.ID) != k.vendorID:
		return true
	default:
		return p.Index == nil && p.ID == ""
	}
}

// end completes the answer when its reason is known. The stream need not have
// ended in order for that: all that is lost then is the usage. Some servers give no
// reason, only the mark of the end.
func (s *chatStream) end(marked bool, out *vendorhttp.Batch) (bool, error) {
	reason, err := s.finishReason()
	if reason == "" && marked {
		reason = model.FinishStop
	}
	if reason == "" || err != nil {
		return false, err
	}
	if reason == model.FinishStop || reason == model.FinishToolCalls {
		if err := s.calls.endAll(out); err != nil {
			return false, err
		}
		reason = model.FinishStop
		if s.calls.anyStarted() {
			reason = model.FinishToolCalls
		}
	}
	out.Add(model.Event{Type: model.EventFinish, Reason: reason, Usage: s.usage})
	return true, nil
}

// finishReason returns why the answer ended, empty when it did not. Servers
// have names of their own for an answer that the model ended.
func (s *chatStream) finishReason() (model.FinishReason, error) {
	switch s.reason {
	case "":
		return "", nil
	case "length":
		return model.FinishMaxTokens, nil
	case "content_filter":
		return model.FinishContentFilter, nil
	case "error":
		return "", &model.Error{Class: model.Provider, Message: "the server aborted the answer"}
	default:
		return model.FinishStop, nil
	}
}

// toUsage returns the usage as the runtime counts.
func (u *chatUsage) toUsage() *model.Usage {
	usage := model.Usage{
		Input:      int(u.PromptTokens),
		Output:     int(u.CompletionTokens),
		CacheRead:  int(max(u.PromptTokensDetails.Value.CachedTokens, u.PromptCacheHitTokens)),
		CacheWrite: int(u.PromptTokensDetails.Value.CacheWriteTokens),
		Reasoning:  int(u.CompletionTokensDetails.Value.ReasoningTokens),
	}.Reconciled()
	return &usage
}
