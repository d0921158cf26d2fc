package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// chatStream translates the stream of Chat Completions. Usage arrives after the finish reason, so
// the answer is complete only at the end of the stream.
type chatStream struct {
	calls   calls
	byIndex map[vendorhttp.Number]*call
	last    *call
	begun   bool
	// choice is the index of the first choice received, the only one used; -1 before it.
	choice vendorhttp.Number
	// had are the kinds of content in the deltas so far.
	had    contentKinds
	back   returnedFields
	reason string
	usage  *model.Usage
}

// contentKinds are the kinds of content in an answer.
type contentKinds struct{ text, reasoning, calls bool }

// add adds the kinds of a delta.
func (c *contentKinds) add(d *chatDelta) {
	c.text = c.text || d.Content.text != "" || d.Refusal != ""
	c.reasoning = c.reasoning || d.Content.thought != "" || d.ReasoningContent.text != "" || d.Reasoning != "" || d.ReasoningText != ""
	c.calls = c.calls || slices.ContainsFunc(d.ToolCalls, func(p chatPiece) bool { return !p.isEmpty() }) ||
		d.FunctionCall != nil && *d.FunctionCall != chatCallPiece{}
}

func newChatStream(req *model.Request, provider string) *chatStream {
	s := &chatStream{calls: newCalls(req), byIndex: map[vendorhttp.Number]*call{}, choice: -1, back: returnedFields{provider: provider}}
	s.calls.provider = provider
	return s
}

type chatChunk struct {
	ID      vendorhttp.Text               `json:"id"`
	Object  vendorhttp.Text               `json:"object"`
	Error   json.RawMessage               `json:"error"`
	Choices []chatChoice                  `json:"choices"`
	Usage   vendorhttp.Detail[*chatUsage] `json:"usage"`
	// Groq has the error of an aborted answer, and earlier the usage.
	Groq vendorhttp.Detail[groqFields] `json:"x_groq"`
}

// groqFields are the fields that Groq adds to a chunk.
type groqFields struct {
	Error json.RawMessage               `json:"error"`
	Usage vendorhttp.Detail[*chatUsage] `json:"usage"`
}

// failure returns the error in a chunk or one of its choices, or nil.
func (c *chatChunk) failure() error {
	if !vendorhttp.IsNothing(c.Error) {
		return parseErrorValue(c.Error).modelError()
	}
	if !vendorhttp.IsNothing(c.Groq.Value.Error) {
		return parseErrorValue(c.Groq.Value.Error).modelError()
	}
	for i := range c.Choices {
		if !vendorhttp.IsNothing(c.Choices[i].Error) {
			return parseErrorValue(c.Choices[i].Error).modelError()
		}
	}
	return nil
}

type chatChoice struct {
	Index        vendorhttp.Number `json:"index"`
	FinishReason vendorhttp.Text   `json:"finish_reason"`
	Delta        chatDelta         `json:"delta"`
	// Message is a whole answer, or the delta of some servers.
	Message *chatDelta      `json:"message"`
	Error   json.RawMessage `json:"error"`
	// Usage is Moonshot's usage.
	Usage vendorhttp.Detail[*chatUsage] `json:"usage"`
	// Text is the text from servers that use the older API's form.
	Text vendorhttp.Text `json:"text"`
	// ToolCalls are the calls of servers that put them beside the delta.
	ToolCalls []chatPiece `json:"tool_calls"`
	// CamelReason is the finish reason from gateways that use camel case.
	CamelReason vendorhttp.Text `json:"finishReason"`
}

type chatDelta struct {
	Content messageContent  `json:"content"`
	Refusal vendorhttp.Text `json:"refusal"`
	// ReasoningContent, Reasoning and ReasoningText are not the vendor's; servers of reasoning
	// models send one of them, or several with the same text.
	ReasoningContent foundText       `json:"reasoning_content"`
	Reasoning        vendorhttp.Text `json:"reasoning"`
	ReasoningText    vendorhttp.Text `json:"reasoning_text"`
	// Thinking is the reasoning of gateways that copy Ollama's own API.
	Thinking  vendorhttp.Content `json:"thinking"`
	ToolCalls []chatPiece        `json:"tool_calls"`
	// FunctionCall is the only call of an answer in the API's first form.
	FunctionCall *chatCallPiece `json:"function_call"`

	camelFields
	messageFields
}

// camelFields are the fields of a delta from gateways that use camel case.
type camelFields struct {
	CamelReasoning vendorhttp.Text `json:"reasoningContent"`
	CamelCalls     []chatPiece     `json:"toolCalls"`
	CamelCall      *chatCallPiece  `json:"functionCall"`
}

// normalize moves content under other names to the API's fields.
func (d *chatDelta) normalize() {
	d.Content.thought = cmp.Or(d.Content.thought, d.Thinking)
	if d.ReasoningContent.text == "" {
		d.ReasoningContent.text = d.CamelReasoning
	}
	if len(d.ToolCalls) == 0 {
		d.ToolCalls = d.CamelCalls
	}
	d.FunctionCall = cmp.Or(d.FunctionCall, d.CamelCall)
	d.Thinking, d.camelFields = "", camelFields{}
}

// DecodeText reads a delta that is a string.
func (d *chatDelta) DecodeText(text string) bool {
	d.Content.text = vendorhttp.Content(text)
	return true
}

// messageContent is the content of an answer: a string, or parts, some of which are thoughts with
// Mistral.
type messageContent struct{ text, thought vendorhttp.Content }

// UnmarshalJSON reads the text and the thoughts.
func (c *messageContent) UnmarshalJSON(data []byte) error {
	if data[0] == '[' && bytes.Contains(data, []byte(`"thinking"`)) {
		var parts []struct {
			Thinking vendorhttp.Content `json:"thinking"`
		}
		_ = json.Unmarshal(data, &parts) // others are texts
		for i := range parts {
			c.thought += parts[i].Thinking
		}
	}
	return c.text.UnmarshalJSON(data)
}

// foundText is a text that a server may have sent empty.
type foundText struct {
	text  vendorhttp.Text
	found bool
}

// UnmarshalJSON reads the text.
func (t *foundText) UnmarshalJSON(data []byte) error {
	t.found = data[0] == '"'
	return t.text.UnmarshalJSON(data)
}

// chatPiece is a piece of a tool call.
type chatPiece struct {
	Index    *vendorhttp.Number `json:"index"`
	ID       vendorhttp.Text    `json:"id"`
	Function chatCallPiece      `json:"function"`
	// Custom is a call of a tool with text input.
	Custom *chatCallPiece `json:"custom"`
	// Name and the arguments come from servers that send no function.
	Name vendorhttp.Text `json:"name"`

	callArgumentNames
	callFields
}

// isEmpty reports whether a piece contains only its index.
func (p *chatPiece) isEmpty() bool {
	return p.ID == "" && p.Name == "" && p.first() == "" && p.Function == chatCallPiece{} && p.Custom == nil && p.callFields.isEmpty()
}

type chatCallPiece struct {
	Name vendorhttp.Text `json:"name"`

	callArgumentNames
}

// DecodeText reads a function sent as only a name, with the arguments beside it.
func (p *chatCallPiece) DecodeText(text string) bool {
	if strings.ContainsRune(text, '{') {
		return false
	}
	p.Name = vendorhttp.Text(text)
	return true
}

// callArgumentNames holds a call's arguments under the names that servers use.
type callArgumentNames struct {
	Arguments  vendorhttp.Arguments `json:"arguments"`
	Parameters vendorhttp.Arguments `json:"parameters"`
	Args       vendorhttp.Arguments `json:"args"`
	Input      vendorhttp.Arguments `json:"input"`
}

// first returns the first non-empty arguments.
func (n *callArgumentNames) first() vendorhttp.Arguments {
	return cmp.Or(n.Arguments, n.Parameters, n.Args, n.Input)
}

// normalize moves the name and the arguments to the API's fields.
func (p *chatPiece) normalize() {
	f := &p.Function
	if (*f == chatCallPiece{}) && p.Custom != nil {
		*f = *p.Custom
	}
	f.Name = cmp.Or(f.Name, p.Name)
	f.callArgumentNames = callArgumentNames{Arguments: cmp.Or(f.first(), p.first())}
	p.Name, p.Custom, p.callArgumentNames = "", nil, callArgumentNames{}
}

type chatUsage struct {
	PromptTokens vendorhttp.Number `json:"prompt_tokens"`
	// PromptCacheHitTokens is DeepSeek's count of cached tokens.
	PromptCacheHitTokens vendorhttp.Number                `json:"prompt_cache_hit_tokens"`
	PromptTokensDetails  vendorhttp.Detail[promptDetails] `json:"prompt_tokens_details"`
	CompletionTokens     vendorhttp.Number                `json:"completion_tokens"`
	// InputTokens and OutputTokens are the Responses names, which some gateways use.
	InputTokens  vendorhttp.Number `json:"input_tokens"`
	OutputTokens vendorhttp.Number `json:"output_tokens"`

	CompletionTokensDetails vendorhttp.Detail[outputDetails] `json:"completion_tokens_details"`
}

type promptDetails struct {
	CachedTokens     vendorhttp.Number `json:"cached_tokens"`
	CacheWriteTokens vendorhttp.Number `json:"cache_write_tokens"`
}

type outputDetails struct {
	ReasoningTokens vendorhttp.Number `json:"reasoning_tokens"`
}

func (s *chatStream) translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (bool, error) {
	if string(ev.Name) == "error" {
		return false, errorEvent(ev.Data)
	}
	var chunk chatChunk
	if err := vendorhttp.DecodeEvent(ev.Data, &chunk); err != nil {
		return false, err
	}
	if err := chunk.failure(); err != nil {
		return false, err
	}
	if chunk.Object == "error" {
		return false, errorEvent(ev.Data)
	}
	if !s.begun && chunk.ID != "" {
		s.begun = true
		s.calls.seed = string(chunk.ID) + "\x00" + s.calls.seed
	}
	s.countUsage(chunk.Usage.Value)
	s.countUsage(chunk.Groq.Value.Usage.Value)
	if s.choice < 0 && len(chunk.Choices) > 0 {
		first := slices.MinFunc(chunk.Choices, func(a, b chatChoice) int { return cmp.Compare(a.Index, b.Index) })
		s.choice = max(first.Index, 0)
	}
	for i := range chunk.Choices {
		if chunk.Choices[i].Index == s.choice { // only one was requested
			s.addChoice(&chunk.Choices[i], out)
		}
	}
	out.Unknown = len(chunk.Choices) == 0 && chunk.Usage.Value == nil
	if ev.Last && s.reason == "" && (len(out.Events) > 0 || bytes.Contains(ev.Data, []byte(`"choices":`))) {
		s.reason = string(model.FinishStop)
	}
	return false, nil
}

// countUsage keeps a usage report. Some servers repeat an empty one at the end.
func (s *chatStream) countUsage(u *chatUsage) {
	if u == nil {
		return
	}
	if usage := u.toUsage(); s.usage == nil || *usage != (model.Usage{}) {
		s.usage = usage
	}
}

func (s *chatStream) addChoice(c *chatChoice, out *vendorhttp.Batch) {
	s.countUsage(c.Usage.Value)
	if c.Delta.Content.text == "" {
		c.Delta.Content.text = vendorhttp.Content(c.Text)
	}
	if len(c.Delta.ToolCalls) == 0 {
		c.Delta.ToolCalls = c.ToolCalls
	}
	c.Delta.normalize()
	s.had.add(&c.Delta)
	s.addDelta(&c.Delta, out)
	if c.Message != nil {
		s.addDelta(s.missingFrom(c.Message), out)
	}
	if reason := cmp.Or(c.FinishReason, c.CamelReason); reason != "" {
		s.reason = string(reason)
	}
}

// missingFrom returns the parts of a complete message that the deltas lacked.
func (s *chatStream) missingFrom(message *chatDelta) *chatDelta {
	missing := *message
	missing.normalize()
	if s.had.text {
		missing.Content.text, missing.Refusal = "", ""
	}
	if s.had.reasoning {
		missing.Content.thought, missing.Reasoning, missing.ReasoningText, missing.ReasoningContent = "", "", "", foundText{}
	}
	if s.had.calls {
		missing.ToolCalls, missing.FunctionCall = nil, nil
	}
	return &missing
}

// addDelta adds a piece of the answer.
func (s *chatStream) addDelta(d *chatDelta, out *vendorhttp.Batch) {
	s.back.add(d)
	switch {
	case d.ReasoningContent.text != "":
		out.Add(model.Event{Type: model.EventReasoning, Name: reasoningContent, Delta: string(d.ReasoningContent.text)})
	case d.Reasoning != "":
		out.Add(model.Event{Type: model.EventReasoning, Name: reasoningField, Delta: string(d.Reasoning)})
	case d.ReasoningText != "":
		out.Add(model.Event{Type: model.EventReasoning, Name: reasoningText, Delta: string(d.ReasoningText)})
	case d.Content.thought != "":
		out.AddDelta(model.EventReasoning, string(d.Content.thought))
	case !s.had.reasoning:
		if text := detailsText(d.ReasoningDetails); text != "" {
			out.Add(model.Event{Type: model.EventReasoning, Name: reasoningDetails, Delta: text})
		}
	}
	out.AddDelta(model.EventText, string(d.Content.text))
	out.AddDelta(model.EventText, string(d.Refusal))
	for i := range d.ToolCalls {
		s.addPiece(&d.ToolCalls[i], out)
	}
	if d.FunctionCall != nil {
		s.addPiece(&chatPiece{Function: *d.FunctionCall}, out)
	}
}

func (s *chatStream) addPiece(p *chatPiece, out *vendorhttp.Batch) {
	p.normalize()
	if p.isEmpty() {
		return
	}
	k := s.callOf(p)
	s.last = k
	k.fields.add(&p.callFields)
	s.calls.describeCall(k, string(p.ID), string(p.Function.Name), out)
	s.calls.addArguments(k, string(p.Function.Arguments), out)
	k.received.add(string(p.Function.Arguments))
}

// callOf returns the call that a piece belongs to. Servers differ: some leave
// out the index, some give all calls the same.
func (s *chatStream) callOf(p *chatPiece) *call {
	k := s.last
	if p.Index != nil && (s.byIndex[*p.Index] != nil || !s.isTail(p)) {
		k = s.byIndex[*p.Index]
	}
	if k == nil || p.beginsAfter(k) && !s.continuesName(p, k) {
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

// continuesName reports whether a piece has a part of the call's name, or the whole name when the
// call has its beginning.
func (s *chatStream) continuesName(p *chatPiece, k *call) bool {
	name := string(p.Function.Name)
	if s.calls.continuesName(k, name) {
		return true
	}
	sameID := p.ID == "" || k.vendorID == "" || string(p.ID) == k.vendorID
	return sameID && s.calls.repeatsName(k, name)
}

// isTail reports whether a piece at an unknown index can only be the tail of the last
// call's arguments.
func (s *chatStream) isTail(p *chatPiece) bool {
	return p.ID == "" && p.Function.Name == "" && s.last != nil && s.last.arguments.IsOpen()
}

// beginsAfter reports whether a piece that seems to belong to call k begins another call. Pieces
// that only continue a call have no name, or repeat it.
func (p *chatPiece) beginsAfter(k *call) bool {
	name := string(p.Function.Name)
	switch {
	case name == "" || k.name == "":
		return false
	case name != k.name || p.isWholeAfter(k):
		return true
	case k.arguments.IsOpen(): // some servers repeat the name, or invent an ID, for each piece
		return false
	case p.ID != "" && k.vendorID != "" && string(p.ID) != k.vendorID:
		return p.Index == nil || k.received.length > 0 || p.Function.Arguments == ""
	default:
		return p.Index == nil && p.ID == ""
	}
}

// isWholeAfter reports whether a piece has the complete arguments of a call other than k, whose
// arguments are also complete.
func (p *chatPiece) isWholeAfter(k *call) bool {
	arguments := string(p.Function.Arguments)
	if !k.arguments.IsWhole() || k.received.length <= len("{}") || !json.Valid([]byte(arguments)) || arguments[0] != '{' {
		return false
	}
	return k.received.length != len(arguments) || !k.received.isBeginningOf(arguments)
}

// end completes the answer if its finish reason is known. An unfinished stream then loses only the
// usage. Some servers give no reason, only the end mark.
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
	s.back.emitFields(s.had.reasoning, out)
	out.Add(model.Event{Type: model.EventFinish, Reason: reason, Usage: s.usage})
	return true, nil
}

// toUsage converts the usage to the runtime's counts.
func (u *chatUsage) toUsage() *model.Usage {
	usage := model.Usage{
		Input:      int(max(u.PromptTokens, u.InputTokens)),
		Output:     int(max(u.CompletionTokens, u.OutputTokens)),
		CacheRead:  int(max(u.PromptTokensDetails.Value.CachedTokens, u.PromptCacheHitTokens)),
		CacheWrite: int(u.PromptTokensDetails.Value.CacheWriteTokens),
		Reasoning:  int(u.CompletionTokensDetails.Value.ReasoningTokens),
	}.Reconciled()
	return &usage
}
