package agentstest

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/model"
)

// Model is a model with answers programmed by a test.
type Model struct {
	mu        sync.Mutex
	responses []ModelResponse
	chunks    [][]wire.ModelChunk
}

var _ model.Executor = (*Model)(nil)

// Program sets the results of the next calls. A call with chunks streams them; other calls stream
// their whole text.
func (m *Model) Program(responses []ModelResponse, chunks [][]wire.ModelChunk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.responses, m.chunks = slices.Clone(responses), slices.Clone(chunks)
}

// next returns the result of the next call.
func (m *Model) next() (response *ModelResponse, chunks []wire.ModelChunk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.responses) == 0 {
		return nil, nil
	}
	response, m.responses = &m.responses[0], m.responses[1:]
	if len(m.chunks) > 0 {
		chunks, m.chunks = m.chunks[0], m.chunks[1:]
	}
	return response, chunks
}

// Vendor returns "openai".
func (*Model) Vendor() string { return "openai" }

// Stream streams the next answer.
func (m *Model) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	response, chunks := m.next()
	return func(yield func(model.Event, error) bool) {
		if response == nil {
			yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: "no answer is programmed"})
			return
		}
		for _, ev := range answerEvents(response, chunks) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// answerEvents returns the events of an answer.
func answerEvents(response *ModelResponse, chunks []wire.ModelChunk) []model.Event {
	var list []model.Event
	for i := range chunks {
		message := wire.Message{Content: chunks[i].Content}
		list = append(list, model.Event{Type: model.EventText, Delta: message.Text()})
	}
	if text := response.Message.Text(); len(chunks) == 0 && text != "" {
		list = append(list, model.Event{Type: model.EventText, Delta: text})
	}
	reason, calls := model.FinishStop, 0
	for _, part := range response.Message.Content {
		request := part.ToolRequest
		if request == nil {
			continue
		}
		input := request.Input
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		reason = model.FinishToolCalls
		list = append(list,
			model.Event{Type: model.EventToolCallStart, Index: calls, ID: request.Ref, Name: request.Name},
			model.Event{Type: model.EventToolCallDelta, Index: calls, Delta: string(input)},
			model.Event{Type: model.EventToolCallEnd, Index: calls})
		calls++
	}
	return append(list, model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 1, Output: 1}})
}
