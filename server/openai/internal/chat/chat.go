// Package chat serves chat completions.
package chat

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
)

// head begins completions and their chunks.
type head struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
}

func newHead(a *run.Answer, object string) head {
	return head{run.AnswerID(a.Turn.ID, a.Want), object, a.Turn.CreatedAt.Unix(), a.Label}
}

// Completion is a non-streaming completion.
type Completion struct {
	head
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
}

type choice struct {
	Index        int             `json:"index"`
	Message      Answer          `json:"message"`
	FinishReason string          `json:"finish_reason"`
	Logprobs     json.RawMessage `json:"logprobs"`
}

// Answer is the message of a completion.
type Answer struct {
	Role      string  `json:"role"`
	Content   *string `json:"content"`
	Refusal   *string `json:"refusal"`
	Reasoning string  `json:"reasoning_content,omitempty"`
	ToolCalls []Call  `json:"tool_calls,omitempty"`
}

type usage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	PromptDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func usageOf(u event.Usage) usage {
	v := usage{Prompt: u.Input, Completion: u.Output, Total: u.Total()}
	v.PromptDetails.Cached, v.CompletionDetails.Reasoning = u.CacheRead, u.Reasoning
	return v
}

// Routes returns the routes of chat completions.
func Routes(b *surfacekit.Base) []server.Route {
	return []server.Route{
		server.Typed[Request, Completion](run.NewRoute(b, "POST /v1/chat/completions", settings.ScopeRunsWrite, createCompletion)).WithNewTurn().WithStream(),
	}
}

// createCompletion starts a run, or passes the function results at the end of the messages to a
// waiting run.
func createCompletion(c *run.Call) (any, error) {
	var r Request
	body, err := c.ReadBody(&r, Parameters)
	if err != nil {
		return nil, err
	}
	asked, err := r.ToTurn()
	if err != nil {
		return nil, err
	}
	a, err := c.ResumeOrBegin(asked, run.ChatPrefix, body)
	if err != nil {
		return nil, err
	}
	a.Abandons = true
	if run.IsSet(r.Stream) {
		a.Stream(NewStream(a, r.StreamOptions != nil && r.StreamOptions.IncludeUsage))
		return nil, nil //nolint:nilnil // it is written
	}
	err = a.Await()
	reason, failed := "", (*server.Refusal)(nil)
	if err == nil {
		if reason, failed = finishReason(a.Over()); failed != nil {
			err = failed
		}
	}
	if err != nil {
		return nil, c.AfterBegin(err)
	}
	return newCompletion(a, reason), nil
}

// newCompletion returns the completion for a segment that has ended.
func newCompletion(a *run.Answer, reason string) *Completion {
	e, message := a.Over(), Answer{Role: surfacekit.RoleAssistant}
	var texts, thoughts []string
	for _, i := range e.Items {
		switch {
		case i.Type == run.ItemFunction:
			message.ToolCalls = append(message.ToolCalls, Call{ID: i.CallID, Type: "function", Function: function{i.Name, *i.Arguments}})
		case i.Type == run.ItemThought:
			thoughts = append(thoughts, string(i.Text))
		case i.Status == run.StateCompleted || e.Finish != nil && i == e.Items[len(e.Items)-1]:
			texts = append(texts, string(i.Text))
		}
	}
	message.Reasoning = strings.Join(thoughts, "\n\n")
	if text := strings.Join(texts, "\n\n"); text != "" || len(message.ToolCalls) == 0 {
		message.Content = &text
	}
	return &Completion{
		head: newHead(a, "chat.completion"), Choices: []choice{{Message: message, FinishReason: reason, Logprobs: run.Null}}, Usage: usageOf(e.Usage),
	}
}

// finishReason returns why the answer ended, or the error of a run that failed.
func finishReason(e *run.Ending) (string, *server.Refusal) {
	if e.Finish == nil {
		return "tool_calls", nil
	}
	why := &e.Finish.Termination
	switch {
	case why.Code == string(model.Truncated):
		return "length", nil
	case why.Code == string(model.ContentFiltered), e.Finish.FinishReason == model.FinishContentFilter && why.Status() == event.StatusSucceeded:
		return "content_filter", nil
	case why.Status() != event.StatusSucceeded:
		return "", runError(why)
	case e.Finish.FinishReason == model.FinishMaxTokens, why.CutShort():
		return "length", nil
	default:
		return "stop", nil
	}
}

// runError returns the error of an unsuccessful run.
func runError(why *event.Termination) *server.Refusal {
	failed := &server.Refusal{Status: http.StatusInternalServerError, Code: why.Code, Message: surfacekit.StatusMessage(why, false)}
	switch why.Code {
	case string(model.RateLimited), string(model.Overloaded):
		failed.Status = http.StatusTooManyRequests
	case string(model.InvalidRequest), string(model.ContextOverflow), string(model.InvalidOutput):
		failed.Status = http.StatusBadRequest
	}
	return failed
}

// Stream writes a completion as chunks.
type Stream struct {
	answer  *run.Answer
	head    chunk
	usage   bool
	calls   int
	spoken  bool
	between bool
}

// chunk is a chunk of a completion.
type chunk struct {
	head
	Choices []chunkChoice `json:"choices"`
	Usage   any           `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index        int             `json:"index"`
	Delta        chunkDelta      `json:"delta"`
	FinishReason *string         `json:"finish_reason"`
	Logprobs     json.RawMessage `json:"logprobs"`
}

type chunkDelta struct {
	Role      string  `json:"role,omitempty"`
	Content   *string `json:"content,omitempty"`
	Reasoning string  `json:"reasoning_content,omitempty"`
	ToolCalls []Call  `json:"tool_calls,omitempty"`
}

// NewStream returns the stream of a completion.
func NewStream(a *run.Answer, usage bool) *Stream {
	s := &Stream{answer: a, usage: usage, head: chunk{head: newHead(a, "chat.completion.chunk")}}
	if usage {
		s.head.Usage = run.Null
	}
	return s
}

func (s *Stream) writeFrame(v any) { surfacekit.WriteFrame(s.answer.Out, v) }

func (s *Stream) writeDelta(d chunkDelta) { s.writeChunk(chunkChoice{Delta: d}) }

func (s *Stream) writeChunk(c chunkChoice) {
	chunk := s.head
	c.Logprobs = run.Null
	chunk.Choices = []chunkChoice{c}
	s.writeFrame(&chunk)
}

// Begin writes the role.
func (s *Stream) Begin() {
	s.writeDelta(chunkDelta{Role: surfacekit.RoleAssistant, Content: new(string)})
}

// Add writes a function call.
func (s *Stream) Add(i *run.Item) {
	switch i.Type {
	case run.ItemMessage:
		s.between = s.spoken
	case run.ItemFunction:
		index := s.calls
		s.writeDelta(chunkDelta{ToolCalls: []Call{{Index: &index, ID: i.CallID, Type: "function", Function: function{Name: i.Name}}}})
		s.writeDelta(chunkDelta{ToolCalls: []Call{{Index: &index, Function: function{Arguments: *i.Arguments}}}})
		s.calls++
	}
}

// Text writes a part of a text or thought.
func (s *Stream) Text(i *run.Item, delta string) {
	if i.Type == run.ItemThought {
		s.writeDelta(chunkDelta{Reasoning: delta})
		return
	}
	if s.between {
		delta = "\n\n" + delta
	}
	s.between, s.spoken = false, true
	s.writeDelta(chunkDelta{Content: &delta})
}

// Done writes nothing: chunks have no ends.
func (*Stream) Done(*run.Item) {}

// End writes why the completion ended.
func (s *Stream) End(e *run.Ending) {
	reason, failed := finishReason(e)
	if failed != nil {
		s.Fail(server.Classify(s.answer.Call.Context(), failed))
		return
	}
	s.writeChunk(chunkChoice{FinishReason: &reason})
	if s.usage {
		chunk := s.head
		chunk.Choices, chunk.Usage = []chunkChoice{}, usageOf(e.Usage)
		s.writeFrame(&chunk)
	}
	s.answer.Out.WriteString("data: [DONE]\n\n")
}

// Fail writes an error.
func (s *Stream) Fail(f *server.Failure) { s.writeFrame(run.NewErrorBody(f)) }
