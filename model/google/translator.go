package google

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// chunk is a piece of an answer: the required part of the API's GenerateContentResponse, with the
// arguments of calls unchanged.
type chunk struct {
	Candidates []candidate     `json:"candidates"`
	Error      json.RawMessage `json:"error"`

	PromptFeedback vendorhttp.Detail[promptFeedback] `json:"promptFeedback"`
	UsageMetadata  vendorhttp.Detail[*usageMetadata] `json:"usageMetadata"`

	// The field names in the API definition, which some gateways use.
	OtherFeedback vendorhttp.Detail[otherFeedback]  `json:"prompt_feedback"`
	OtherUsage    vendorhttp.Detail[*otherMetadata] `json:"usage_metadata"`
}

// promptFeedback is the reason why a prompt was rejected.
type promptFeedback struct {
	BlockReason vendorhttp.Text `json:"blockReason"`
}

// blockUnspecified is the reason of a prompt that was not rejected.
const blockUnspecified = "BLOCKED_REASON_UNSPECIFIED"

// usageMetadata counts the tokens of an answer.
type usageMetadata struct {
	CachedContentTokenCount vendorhttp.Number `json:"cachedContentTokenCount"`
	CandidatesTokenCount    vendorhttp.Number `json:"candidatesTokenCount"`
	PromptTokenCount        vendorhttp.Number `json:"promptTokenCount"`
	ThoughtsTokenCount      vendorhttp.Number `json:"thoughtsTokenCount"`
	ToolUsePromptTokenCount vendorhttp.Number `json:"toolUsePromptTokenCount"`
}

// otherFeedback and otherMetadata are promptFeedback and usageMetadata under other names.
type (
	otherFeedback struct {
		BlockReason vendorhttp.Text `json:"block_reason"`
	}
	otherMetadata struct {
		CachedContentTokenCount vendorhttp.Number `json:"cached_content_token_count"`
		CandidatesTokenCount    vendorhttp.Number `json:"candidates_token_count"`
		PromptTokenCount        vendorhttp.Number `json:"prompt_token_count"`
		ThoughtsTokenCount      vendorhttp.Number `json:"thoughts_token_count"`
		ToolUsePromptTokenCount vendorhttp.Number `json:"tool_use_prompt_token_count"`
	}
)

// mergeNames moves values that came under other names.
func (c *chunk) mergeNames() {
	if c.OtherUsage.Value != nil && c.UsageMetadata.Value == nil {
		usage := usageMetadata(*c.OtherUsage.Value)
		c.UsageMetadata.Value = &usage
	}
	c.PromptFeedback.Value.BlockReason = cmp.Or(c.PromptFeedback.Value.BlockReason, c.OtherFeedback.Value.BlockReason)
	for i := range c.Candidates {
		a := &c.Candidates[i]
		a.FinishReason, a.FinishMessage = cmp.Or(a.FinishReason, a.OtherReason), cmp.Or(a.FinishMessage, a.OtherMessage)
		for j := range a.Content.Parts {
			p := &a.Content.Parts[j]
			p.FunctionCall, p.ThoughtSignature = cmp.Or(p.FunctionCall, p.OtherCall), cmp.Or(p.ThoughtSignature, p.OtherSignature)
		}
	}
}

type candidate struct {
	Index         vendorhttp.Number `json:"index"`
	FinishReason  vendorReason      `json:"finishReason"`
	FinishMessage vendorhttp.Text   `json:"finishMessage"`
	OtherReason   vendorReason      `json:"finish_reason"`
	OtherMessage  vendorhttp.Text   `json:"finish_message"`
	Content       content           `json:"content"`
}

type content struct {
	Parts []part `json:"parts"`
}

// DecodeText decodes content given as a text.
func (c *content) DecodeText(text string) bool {
	c.Parts = []part{{Text: vendorhttp.Content(text)}}
	return true
}

type part struct {
	Text             vendorhttp.Content `json:"text"`
	Thought          bool               `json:"thought"`
	ThoughtSignature vendorhttp.Text    `json:"thoughtSignature"`
	FunctionCall     *functionCall      `json:"functionCall"`
	OtherSignature   vendorhttp.Text    `json:"thought_signature"`
	OtherCall        *functionCall      `json:"function_call"`
}

// DecodeText decodes a part given as a text.
func (p *part) DecodeText(text string) bool {
	p.Text = vendorhttp.Content(text)
	return true
}

type functionCall struct {
	ID   vendorhttp.Text `json:"id"`
	Name vendorhttp.Text `json:"name"`
	Args json.RawMessage `json:"args"`
}

// translator converts the chunks of one answer to events.
type translator struct {
	form form
	// index is the index of the only candidate used, the first received; -1 before it.
	index vendorhttp.Number
	// out receives the events of the current chunk.
	out *vendorhttp.Batch
	// calls counts the calls known to the consumer.
	calls int
	usage *model.Usage
	// reason and message tell why the answer ended; empty until it ends.
	reason  vendorReason
	message string
	// answers is set once a candidate had content.
	answers bool
	// held is text held back while the answer may still come as a call of our function, and
	// answered is set once it did.
	held     strings.Builder
	answered bool
}

// blocked is the finish reason of an answer to a rejected prompt.
const blocked = finishSafety

// Translate translates an event. The chunk with the finish reason is not always the last, so the
// answer is complete only when the stream ends.
func (t *translator) Translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (done bool, err error) {
	t.out = out
	err = t.translateChunk(ev.Data)
	if ev.Last && t.answers {
		t.reason = cmp.Or(t.reason, finishStop)
	}
	out.Ending = t.reason != ""
	return false, err
}

// End ends an answer that has a finish reason, or the other vendors' end mark.
func (t *translator) End(marked bool, out *vendorhttp.Batch) (done bool, err error) {
	if marked {
		t.reason = cmp.Or(t.reason, finishStop)
	}
	if t.reason == "" {
		return false, nil
	}
	t.out = out
	err = t.finishAnswer()
	return err == nil, err
}

func (t *translator) translateChunk(data []byte) error {
	var c chunk
	if err := vendorhttp.DecodeEvent(data, &c); err != nil {
		return err
	}
	if !vendorhttp.IsNothing(c.Error) {
		return parseErrorValue(c.Error).modelError()
	}
	c.mergeNames()
	if c.UsageMetadata.Value != nil {
		t.usage = usageOf(c.UsageMetadata.Value)
	}
	if f := c.PromptFeedback.Value; f.BlockReason != "" && f.BlockReason != blockUnspecified {
		t.reason = blocked
	}
	t.out.Unknown = len(c.Candidates) == 0 && c.UsageMetadata.Value == nil && c.PromptFeedback.Value.BlockReason == ""
	if t.index < 0 && len(c.Candidates) > 0 {
		first := slices.MinFunc(c.Candidates, func(a, b candidate) int { return cmp.Compare(a.Index, b.Index) })
		t.index = max(first.Index, 0)
	}
	for i := range c.Candidates {
		if c.Candidates[i].Index != t.index { // only one was requested
			continue
		}
		if err := t.translateCandidate(&c.Candidates[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *translator) translateCandidate(c *candidate) error {
	t.answers = t.answers || len(c.Content.Parts) > 0
	for i := range c.Content.Parts {
		if err := t.translatePart(&c.Content.Parts[i]); err != nil {
			return err
		}
	}
	if c.FinishReason != "" && c.FinishReason != finishUnspecified {
		t.reason, t.message = c.FinishReason, string(c.FinishMessage)
	}
	return nil
}

func (t *translator) translatePart(p *part) error {
	switch {
	case p.FunctionCall != nil:
		return t.translateCall(p)
	case p.Thought:
		t.out.AddDelta(model.EventReasoning, string(p.Text))
	default:
		t.translateText(p)
	}
	return nil
}

func (t *translator) addSignature(of, sig string) {
	if sig != "" {
		t.out.Add(model.Event{Type: model.EventReasoningEncrypted, Delta: of + sig})
	}
}

// translateText emits a piece of text. If the answer is expected as a call, the text is held back:
// text before that call is not part of the answer.
func (t *translator) translateText(p *part) {
	if t.form.function != "" {
		t.held.WriteString(string(p.Text))
		return
	}
	t.out.AddDelta(model.EventText, string(p.Text))
	t.addSignature(ofText, string(p.ThoughtSignature))
}

// releaseText emits the held text, unless the answer came as a call.
func (t *translator) releaseText() {
	if !t.answered {
		t.out.AddDelta(model.EventText, t.held.String())
	}
	t.held.Reset()
}

func (t *translator) translateCall(p *part) error {
	c := p.FunctionCall
	switch {
	case c.Name == "":
		return vendorhttp.Malformed("a tool call has no name", nil)
	case string(c.Name) == t.form.function:
		t.addAnswer(c)
		return nil
	}
	t.releaseText()
	t.addSignature(ofCall, string(p.ThoughtSignature))
	t.out.Add(model.Event{Type: model.EventToolCallStart, Index: t.calls, ID: string(c.ID), Name: string(c.Name)})
	if vendorhttp.HasArguments(c.Args) {
		t.out.Add(model.Event{Type: model.EventToolCallDelta, Index: t.calls, Delta: string(c.Args)})
	}
	t.out.Add(model.Event{Type: model.EventToolCallEnd, Index: t.calls})
	t.calls++
	return nil
}

// addAnswer emits the answer from a call of our function. It ignores further answers, which would
// make the text invalid.
func (t *translator) addAnswer(c *functionCall) {
	if !t.answered {
		t.answered = true
		t.out.AddDelta(model.EventText, t.form.answerText(c.Args))
	}
}

// finishAnswer ends the answer.
func (t *translator) finishAnswer() error {
	reason, err := finishReason(t.reason, t.message)
	if err != nil {
		return err
	}
	t.releaseText()
	if reason == model.FinishStop && t.calls > 0 {
		reason = model.FinishToolCalls
	}
	t.out.Add(model.Event{Type: model.EventFinish, Reason: reason, Usage: t.usage})
	return nil
}

// usageOf converts the usage to the runtime's counts.
func usageOf(u *usageMetadata) *model.Usage {
	usage := model.Usage{
		Input:     int(u.PromptTokenCount) + int(u.ToolUsePromptTokenCount),
		Output:    int(u.CandidatesTokenCount) + int(u.ThoughtsTokenCount),
		CacheRead: int(u.CachedContentTokenCount),
		Reasoning: int(u.ThoughtsTokenCount),
	}.Reconciled()
	return &usage
}
