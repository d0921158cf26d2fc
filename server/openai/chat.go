package openai

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/settings"
)

// chatHead begins completions and their chunks.
type chatHead struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
}

func newChatHead(a *answer, object string) chatHead {
	return chatHead{answerID(a.turn.ID, a.want), object, a.turn.CreatedAt.Unix(), a.label}
}

// chatCompletion is an answer in one piece.
type chatCompletion struct {
	chatHead
	Choices []chatChoice `json:"choices"`
	Usage   chatUsage    `json:"usage"`
}

type chatChoice struct {
	Index        int             `json:"index"`
	Message      chatAnswer      `json:"message"`
	FinishReason string          `json:"finish_reason"`
	Logprobs     json.RawMessage `json:"logprobs"`
}

type chatAnswer struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatUsage struct {
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

func chatUsageOf(u event.Usage) chatUsage {
	v := chatUsage{Prompt: u.Input, Completion: u.Output, Total: u.Total()}
	v.PromptDetails.Cached, v.CompletionDetails.Reasoning = u.CacheRead, u.Reasoning
	return v
}

// chatRoutes returns the routes of chat completions.
func chatRoutes(b *surfacekit.Base) []server.Route {
	return []server.Route{begins(server.Typed[chatRequest, chatCompletion](newRoute(b, "POST /v1/chat/completions", settings.ScopeRunsWrite, createChat)))}
}

// createChat starts a run, or gives a waiting run the function results at the end of the messages.
func createChat(c *call) (any, error) {
	var r chatRequest
	body, err := c.readBody(&r, chatParameters)
	if err != nil {
		return nil, err
	}
	asked, err := r.toTurn()
	if err != nil {
		return nil, err
	}
	a, err := c.resumeOrBegin(asked, chatPrefix, body)
	if err != nil {
		return nil, err
	}
	a.abandons = true
	if isSet(r.Stream) {
		a.stream(newChatStream(a, r.StreamOptions != nil && r.StreamOptions.IncludeUsage))
		return nil, nil //nolint:nilnil // it is written
	}
	err = a.wait()
	reason, failed := "", (*server.Refusal)(nil)
	if err == nil {
		if reason, failed = chatFinish(a.over()); failed != nil {
			err = failed
		}
	}
	if err != nil {
		return nil, c.afterBegin(err)
	}
	return newCompletion(a, reason), nil
}

// newCompletion returns the segment, which has ended, in one piece.
func newCompletion(a *answer, reason string) *chatCompletion {
	e, message := a.over(), chatAnswer{Role: surfacekit.RoleAssistant}
	var texts, thoughts []string
	for _, i := range e.items {
		switch {
		case i.Type == itemFunction:
			message.ToolCalls = append(message.ToolCalls, chatCall{ID: i.CallID, Type: "function", Function: chatFunction{i.Name, *i.Arguments}})
		case i.Type == itemThought:
			thoughts = append(thoughts, string(i.text))
		case i.Status == stateCompleted || e.finish != nil && i == e.items[len(e.items)-1]:
			texts = append(texts, string(i.text))
		}
	}
	message.Reasoning = strings.Join(thoughts, "\n\n")
	if text := strings.Join(texts, "\n\n"); text != "" || len(message.ToolCalls) == 0 {
		message.Content = &text
	}
	return &chatCompletion{
		chatHead: newChatHead(a, "chat.completion"), Choices: []chatChoice{{Message: message, FinishReason: reason, Logprobs: null}}, Usage: chatUsageOf(e.usage),
	}
}

// chatFinish returns why the answer ended, or the error of a run that failed.
func chatFinish(e *ending) (string, *server.Refusal) {
	if e.finish == nil {
		return "tool_calls", nil
	}
	why := &e.finish.Termination
	switch {
	case why.Code == string(model.Truncated):
		return "length", nil
	case why.Code == string(model.ContentFiltered), e.finish.FinishReason == model.FinishContentFilter && why.Status() == event.StatusSucceeded:
		return "content_filter", nil
	case why.Status() != event.StatusSucceeded:
		return "", runError(why)
	case e.finish.FinishReason == model.FinishMaxTokens, why.CutShort():
		return "length", nil
	default:
		return "stop", nil
	}
}

// runError returns the error of a run that did not succeed.
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

// chatStream writes a completion as chunks.
type chatStream struct {
	answer  *answer
	head    chatChunk
	usage   bool
	calls   int
	spoken  bool
	between bool
}

// chatChunk is a chunk of a completion.
type chatChunk struct {
	chatHead
	Choices []chatChunkChoice `json:"choices"`
	Usage   any               `json:"usage,omitempty"`
}

type chatChunkChoice struct {
	Index        int             `json:"index"`
	Delta        chatDelta       `json:"delta"`
	FinishReason *string         `json:"finish_reason"`
	Logprobs     json.RawMessage `json:"logprobs"`
}

type chatDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

func newChatStream(a *answer, usage bool) *chatStream {
	s := &chatStream{answer: a, usage: usage, head: chatChunk{chatHead: newChatHead(a, "chat.completion.chunk")}}
	if usage {
		s.head.Usage = null
	}
	return s
}

func (s *chatStream) frame(v any) { surfacekit.WriteFrame(s.answer.Out, v) }

func (s *chatStream) delta(d chatDelta) { s.chunk(chatChunkChoice{Delta: d}) }

func (s *chatStream) chunk(c chatChunkChoice) {
	chunk := s.head
	c.Logprobs = null
	chunk.Choices = []chatChunkChoice{c}
	s.frame(&chunk)
}

func (s *chatStream) begin() {
	s.delta(chatDelta{Role: surfacekit.RoleAssistant, Content: new(string)})
}

func (s *chatStream) add(i *item) {
	switch i.Type {
	case itemMessage:
		s.between = s.spoken
	case itemFunction:
		index := s.calls
		s.delta(chatDelta{ToolCalls: []chatCall{{Index: &index, ID: i.CallID, Type: "function", Function: chatFunction{Name: i.Name}}}})
		s.delta(chatDelta{ToolCalls: []chatCall{{Index: &index, Function: chatFunction{Arguments: *i.Arguments}}}})
		s.calls++
	}
}

func (s *chatStream) text(i *item, delta string) {
	if i.Type == itemThought {
		s.delta(chatDelta{Reasoning: delta})
		return
	}
	if s.between {
		delta = "\n\n" + delta
	}
	s.between, s.spoken = false, true
	s.delta(chatDelta{Content: &delta})
}

func (*chatStream) done(*item) {}

func (s *chatStream) end(e *ending) {
	reason, failed := chatFinish(e)
	if failed != nil {
		s.fail(server.Classify(s.answer.call.Context(), failed))
		return
	}
	s.chunk(chatChunkChoice{FinishReason: &reason})
	if s.usage {
		chunk := s.head
		chunk.Choices, chunk.Usage = []chatChunkChoice{}, chatUsageOf(e.usage)
		s.frame(&chunk)
	}
	s.answer.Out.WriteString("data: [DONE]\n\n")
}

func (s *chatStream) fail(f *server.Failure) { s.frame(newErrorBody(f)) }
