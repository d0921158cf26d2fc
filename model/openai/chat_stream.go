package openai

import (
	"encoding/json"
	"strconv"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// chatStream translates the stream of Chat Completions. Usage arrives after
// the reason for the end, so the answer is complete only when the stream is.
type chatStream struct {
	calls   calls
	byIndex map[int]*call
	last    *call
	begun   bool
	reason  string
	usage   *model.Usage
}

func newChatStream(req *model.Request) *chatStream {
	return &chatStream{calls: calls{seed: strconv.Itoa(len(req.Messages))}, byIndex: map[int]*call{}}
}

type chatChunk struct {
	ID      looseText       `json:"id"`
	Object  looseText       `json:"object"`
	Error   json.RawMessage `json:"error"`
	Choices []chatChoice    `json:"choices"`
	Usage   *chatUsage      `json:"usage"`
}

type chatChoice struct {
	Index        int       `json:"index"`
	FinishReason string    `json:"finish_reason"`
	Delta        chatDelta `json:"delta"`
}

type chatDelta struct {
	Content looseContent `json:"content"`
	Refusal string       `json:"refusal"`
	// ReasoningContent and Reasoning are not the vendor's; servers of models
	// that think aloud have one or the other, or both with the same text.
	ReasoningContent looseText   `json:"reasoning_content"`
	Reasoning        looseText   `json:"reasoning"`
	ToolCalls        []chatPiece `json:"tool_calls"`
}

// chatPiece is a piece of a tool call.
type chatPiece struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string        `json:"name"`
		Arguments argumentsText `json:"arguments"`
	} `json:"function"`
}

type chatUsage struct {
	PromptTokens int `json:"prompt_tokens"`
	// PromptCacheHitTokens is what DeepSeek calls the cached tokens.
	PromptCacheHitTokens int `json:"prompt_cache_hit_tokens"`
	PromptTokensDetails  struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokens        int `json:"completion_tokens"`
	CompletionTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// looseContent is a text, or a list of parts with one each, as some servers
// stream the answers of models that think.
type looseContent string

// UnmarshalJSON reads the text.
func (c *looseContent) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
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
	if chunk.Usage != nil {
		s.usage = chunk.Usage.toUsage()
	}
	for i := range chunk.Choices {
		// Only one choice is ever asked for.
		if chunk.Choices[i].Index == 0 {
			s.addChoice(&chunk.Choices[i], out)
		}
	}
	return false, nil
}

func (s *chatStream) addChoice(c *chatChoice, out *vendorhttp.Batch) {
	reasoning := c.Delta.ReasoningContent
	if reasoning == "" {
		reasoning = c.Delta.Reasoning
	}
	out.AddDelta(model.EventReasoning, string(reasoning))
	out.AddDelta(model.EventText, string(c.Delta.Content))
	out.AddDelta(model.EventText, c.Delta.Refusal)
	for i := range c.Delta.ToolCalls {
		s.addPiece(&c.Delta.ToolCalls[i], out)
	}
	if c.FinishReason != "" {
		s.reason = c.FinishReason
	}
}

func (s *chatStream) addPiece(p *chatPiece, out *vendorhttp.Batch) {
	k := s.callOf(p)
	s.last = k
	s.calls.describeCall(k, p.ID, p.Function.Name, out)
	s.calls.addArguments(k, string(p.Function.Arguments), out)
}

// callOf returns the call that a piece belongs to. Servers differ: some leave
// out the index, some give all calls the same.
func (s *chatStream) callOf(p *chatPiece) *call {
	k := s.last
	if p.Index != nil {
		k = s.byIndex[*p.Index]
	}
	if k == nil || p.beginsAfter(k) {
		k = s.calls.openCall()
	}
	if k.vendorID == "" {
		k.vendorID = p.ID
	}
	if p.Index != nil {
		s.byIndex[*p.Index] = k
	}
	return k
}

// beginsAfter reports whether a piece that seems to belong to the call k
// begins another one. Pieces that only continue a call have no name, or repeat
// it.
func (p *chatPiece) beginsAfter(k *call) bool {
	name := p.Function.Name
	switch {
	case name == "" || k.name == "":
		return false
	case name != k.name || p.ID != "" && k.vendorID != "" && p.ID != k.vendorID:
		return true
	default:
		return p.Index == nil && p.ID == ""
	}
}

// end completes the answer when its reason is known. The stream need not have
// ended in order for that: all that is lost then is the usage. Some servers
// give no reason for an answer that asks for calls, only the mark of its end.
func (s *chatStream) end(marked bool, out *vendorhttp.Batch) (bool, error) {
	reason, err := s.finishReason()
	if reason == "" && marked && s.calls.anyStarted() {
		reason = model.FinishToolCalls
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
		Input:      u.PromptTokens,
		Output:     u.CompletionTokens,
		CacheRead:  max(u.PromptTokensDetails.CachedTokens, u.PromptCacheHitTokens),
		CacheWrite: u.PromptTokensDetails.CacheWriteTokens,
		Reasoning:  u.CompletionTokensDetails.ReasoningTokens,
	}.Reconciled()
	return &usage
}
