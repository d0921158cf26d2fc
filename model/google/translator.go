package google

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// chunk is a piece of an answer: the part of the API's GenerateContentResponse
// that is needed, with the arguments of calls as they were written.
type chunk struct {
	Candidates     []candidate     `json:"candidates"`
	PromptFeedback *promptFeedback `json:"promptFeedback"`
	Error          json.RawMessage `json:"error"`

	UsageMetadata vendorhttp.Detail[*usageMetadata] `json:"usageMetadata"`
}

// promptFeedback is why a prompt was refused.
type promptFeedback struct {
	BlockReason string `json:"blockReason"`
}

// blockUnspecified is the reason of a prompt that was not refused.
const blockUnspecified = "BLOCKED_REASON_UNSPECIFIED"

// usageMetadata counts the tokens of an answer.
type usageMetadata struct {
	CachedContentTokenCount vendorhttp.Number `json:"cachedContentTokenCount"`
	CandidatesTokenCount    vendorhttp.Number `json:"candidatesTokenCount"`
	PromptTokenCount        vendorhttp.Number `json:"promptTokenCount"`
	ThoughtsTokenCount      vendorhttp.Number `json:"thoughtsTokenCount"`
	ToolUsePromptTokenCount vendorhttp.Number `json:"toolUsePromptTokenCount"`
}

type candidate struct {
	Index         vendorhttp.Number `json:"index"`
	FinishReason  vendorReason      `json:"finishReason"`
	FinishMessage string            `json:"finishMessage"`
	Content       struct {
		Parts []part `json:"parts"`
	} `json:"content"`
}

type part struct {
	Text             string        `json:"text"`
	Thought          bool          `json:"thought"`
	ThoughtSignature string        `json:"thoughtSignature"`
	FunctionCall     *functionCall `json:"functionCall"`
}

type functionCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// translator turns the chunks of one answer into events.
type translator struct {
	form form
	// out takes the events of the chunk that is being translated.
	out *vendorhttp.Batch
	// calls counts the calls that the consumer knows of.
	calls int
	usage *model.Usage
	// reason and message tell why the answer ended; empty as long as it did not.
	reason  vendorReason
	message string
	// answers is set once a candidate had content.
	answers bool
	// held is text that waits while the answer may yet come as a call of our
	// function, and answered is set once it did.
	held     strings.Builder
	answered bool
}

// blocked stands for the reason of an answer to a prompt that was refused.
const blocked = finishSafety

// Translate translates an event. A chunk with the reason for the end of the answer is
// not always the last, so the answer is complete when the stream is.
func (t *translator) Translate(ev *vendorhttp.ServerEvent, out *vendorhttp.Batch) (done bool, err error) {
	t.out = out
	if ev.IsEnd() { // the mark of other vendors
		t.reason = cmp.Or(t.reason, finishStop)
		err = t.finishAnswer()
		return err == nil, err
	}
	err = t.translateChunk(ev.Data)
	if ev.Last && t.answers {
		t.reason = cmp.Or(t.reason, finishStop)
	}
	out.Ending = t.reason != ""
	return false, err
}

// End ends an answer that has a reason for its end.
func (t *translator) End(out *vendorhttp.Batch) (done bool, err error) {
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
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return parseErrorValue(c.Error).modelError()
	}
	if c.UsageMetadata.Value != nil {
		t.usage = usageOf(c.UsageMetadata.Value)
	}
	if f := c.PromptFeedback; f != nil && f.BlockReason != "" && f.BlockReason != blockUnspecified {
		t.reason = blocked
	}
	for i := range c.Candidates {
		// Only one answer is ever asked for.
		if c.Candidates[i].Index != 0 {
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
		t.reason, t.message = c.FinishReason, c.FinishMessage
	}
	return nil
}

func (t *translator) translatePart(p *part) error {
	switch {
	case p.FunctionCall != nil:
		return t.translateCall(p)
	case p.Thought:
		t.out.AddDelta(model.EventReasoning, p.Text)
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

// translateText hands on a piece of text. Where the answer is expected as a call, it
// waits: the text before that call is not part of the answer.
func (t *translator) translateText(p *part) {
	if t.form.function != "" {
		t.held.WriteString(p.Text)
		return
	}
	t.out.AddDelta(model.EventText, p.Text)
	t.addSignature(ofText, p.ThoughtSignature)
}

// releaseText hands on the text that waited, unless the answer came otherwise.
func (t *translator) releaseText() {
	if !t.answered {
		t.out.AddDelta(model.EventText, t.held.String())
	}
	t.held.Reset()
}

func (t *translator) translateCall(p *part) error {
	c := p.FunctionCall
	switch c.Name {
	case "":
		return vendorhttp.Malformed("a tool call has no name", nil)
	case t.form.function:
		t.addAnswer(c)
		return nil
	}
	t.releaseText()
	t.addSignature(ofCall, p.ThoughtSignature)
	t.out.Add(model.Event{Type: model.EventToolCallStart, Index: t.calls, ID: c.ID, Name: c.Name})
	if len(c.Args) > 0 && string(c.Args) != "null" {
		t.out.Add(model.Event{Type: model.EventToolCallDelta, Index: t.calls, Delta: string(c.Args)})
	}
	t.out.Add(model.Event{Type: model.EventToolCallEnd, Index: t.calls})
	t.calls++
	return nil
}

// addAnswer hands on the answer that our function was called with. A second one
// would make the text no answer at all.
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

// usageOf returns the usage as the runtime counts.
func usageOf(u *usageMetadata) *model.Usage {
	usage := model.Usage{
		Input:     int(u.PromptTokenCount) + int(u.ToolUsePromptTokenCount),
		Output:    int(u.CandidatesTokenCount) + int(u.ThoughtsTokenCount),
		CacheRead: int(u.CachedContentTokenCount),
		Reasoning: int(u.ThoughtsTokenCount),
	}.Reconciled()
	return &usage
}
