package a2a_test

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/tools"
)

// reply is one answer of a model: its text in chunks, or calls of tools.
type reply struct {
	chunks []string
	calls  []model.ToolCall
	err    error
	// hold delays the answer after its first chunk until it is closed or the turn ends.
	hold <-chan struct{}
}

// says is a reply that is a text.
func says(chunks ...string) reply { return reply{chunks: chunks} }

// asks is a reply that calls the tool "ask", which waits for a person.
func asks(id, question string) reply {
	args, _ := json.Marshal(map[string]string{"question": question})
	return reply{calls: []model.ToolCall{{ID: id, Name: "ask", Arguments: args}}}
}

// scriptedModel is a model whose replies are listed by the text of the turn's input, one
// for each step.
type scriptedModel struct {
	mu      sync.Mutex
	replies map[string][]reply
}

// teach adds replies.
func (m *scriptedModel) teach(input string, replies ...reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.replies == nil {
		m.replies = make(map[string][]reply)
	}
	m.replies[input] = replies
}

// Stream answers with the reply for the step that the conversation has come to.
func (m *scriptedModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	input, step := "", 0
	for i := range req.Messages {
		switch req.Messages[i].Role {
		case model.RoleUser:
			input, step = req.Messages[i].Text(), 0
		case model.RoleAssistant:
			step++
		}
	}
	m.mu.Lock()
	list := m.replies[input]
	m.mu.Unlock()
	out := says("you said: " + input)
	if step < len(list) {
		out = list[step]
	}
	return out.stream(ctx)
}

func (r reply) stream(ctx context.Context) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for i, chunk := range r.chunks {
			if !yield(model.Event{Type: model.EventText, Delta: chunk}, nil) {
				return
			}
			if i > 0 || r.hold == nil {
				continue
			}
			select {
			case <-r.hold:
			case <-ctx.Done():
				yield(model.Event{}, ctx.Err())
				return
			}
		}
		if r.err != nil {
			yield(model.Event{}, r.err)
			return
		}
		reason := model.FinishStop
		for i, c := range r.calls {
			reason = model.FinishToolCalls
			if !yield(model.Event{Type: model.EventToolCallStart, Index: i, ID: c.ID, Name: c.Name}, nil) ||
				!yield(model.Event{Type: model.EventToolCallEnd, Index: i, Delta: string(c.Arguments)}, nil) {
				return
			}
		}
		yield(model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 10, Output: 5}}, nil)
	}
}

// toolFunc is a tool that takes any arguments.
type toolFunc func(ctx context.Context, call *tools.Call) (tools.Result, error)

func (toolFunc) Descriptor() tools.Descriptor { return tools.Descriptor{Description: "for tests"} }

func (f toolFunc) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	return f(ctx, call)
}

type plugin func(r *plugins.Registrar)

func (plugin) Descriptor() plugins.Descriptor { return plugins.Descriptor{Summary: "for tests"} }

func (p plugin) Register(r *plugins.Registrar) error { p(r); return nil }

// asking makes each call of the tool "ask" wait for a person: the arguments hold the
// question, the form of its answer, and the action.
var asking = plugin(func(r *plugins.Registrar) {
	r.ToolGate(plugins.GateFunc(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
		if p.Call.Name != "ask" {
			return plugins.Decision{}, nil
		}
		var asked struct {
			Question string          `json:"question"`
			Action   string          `json:"action"`
			Schema   json.RawMessage `json:"schema"`
		}
		if err := json.Unmarshal(p.Call.Arguments, &asked); err != nil {
			return plugins.Decision{}, err
		}
		return plugins.Decision{Kind: plugins.Suspend, Interaction: &interaction.Request{
			ID: "q_" + p.Call.ID, Message: asked.Question, Action: asked.Action, ResponseSchema: asked.Schema, Mode: interaction.UseDecisionAsToolResult,
		}}, nil
	}))
})
