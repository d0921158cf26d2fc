package openai

import (
	"bytes"
	"encoding/json"
)

// chatStream writes a completion as chunks.
type chatStream struct {
	out     *bytes.Buffer
	head    chatChunk
	usage   bool
	calls   int
	spoken  bool
	between bool
}

// chatChunk is a chunk of a completion.
type chatChunk struct {
	ID      string            `json:"id"`
	Object  string            `json:"object"`
	Created int64             `json:"created"`
	Model   string            `json:"model"`
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
	Role      string          `json:"role,omitempty"`
	Content   *string         `json:"content,omitempty"`
	Reasoning string          `json:"reasoning_content,omitempty"`
	ToolCalls []chatCallDelta `json:"tool_calls,omitempty"`
}

type chatCallDelta struct {
	Index    int               `json:"index"`
	ID       string            `json:"id,omitempty"`
	Type     string            `json:"type,omitempty"`
	Function chatFunctionDelta `json:"function"`
}

type chatFunctionDelta struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

func newChatStream(a *answer, usage bool) *chatStream {
	s := &chatStream{usage: usage, head: chatChunk{
		ID: answerID(a.turn.ID, a.want), Object: "chat.completion.chunk", Created: a.turn.CreatedAt.Unix(), Model: a.label,
	}}
	if usage {
		s.head.Usage = null
	}
	return s
}

func (s *chatStream) writeTo(b *bytes.Buffer) { s.out = b }

// frame writes a value as an event.
func (s *chatStream) frame(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		return // not reached: texts and numbers
	}
	s.out.WriteString("data: ")
	s.out.Write(data)
	s.out.WriteString("\n\n")
}

func (s *chatStream) delta(d chatDelta) { s.chunk(chatChunkChoice{Delta: d, Logprobs: null}) }

func (s *chatStream) chunk(c chatChunkChoice) {
	chunk := s.head
	chunk.Choices = []chatChunkChoice{c}
	s.frame(&chunk)
}

func (s *chatStream) begin() { s.delta(chatDelta{Role: "assistant", Content: new(string)}) }

func (s *chatStream) add(i *item) {
	switch i.kind {
	case itemMessage:
		s.between = s.spoken
	case itemFunction:
		s.delta(chatDelta{ToolCalls: []chatCallDelta{{Index: s.calls, ID: i.callID, Type: "function", Function: chatFunctionDelta{Name: i.name}}}})
		s.delta(chatDelta{ToolCalls: []chatCallDelta{{Index: s.calls, Function: chatFunctionDelta{Arguments: i.arguments}}}})
		s.calls++
	}
}

func (s *chatStream) text(i *item, delta string) {
	if i.kind == itemThought {
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
	reason, failed := e.chatFinish()
	if failed != nil {
		s.fail(failed)
		return
	}
	s.chunk(chatChunkChoice{FinishReason: &reason, Logprobs: null})
	if s.usage {
		chunk := s.head
		chunk.Choices, chunk.Usage = []chatChunkChoice{}, chatUsageOf(e.usage)
		s.frame(&chunk)
	}
	s.out.WriteString("data: [DONE]\n\n")
}

func (s *chatStream) fail(err *requestError) { s.frame(errorBody{err.detail()}) }
