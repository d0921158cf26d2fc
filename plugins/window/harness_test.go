package window_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/plugins/window"
	"github.com/agentruntime/agentruntime/spec"
)

// tb is a test, a benchmark or a property that is checked.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// conversing is a turn with the plugin, as the loop runs one.
type conversing struct {
	tb     tb
	engine *execution.Engine
	events []event.Data
	spent  map[string]model.Usage
	// before are the messages of the request before the conversation, after those
	// that follow it.
	before, after []model.Message
	tools         []model.Tool
	// history and input count the messages that the turn began with. Without, the input is
	// the last message of the user.
	history, input int
}

// begin begins a turn in a session whose state may be nil.
func begin(t tb, p *window.Plugin, session map[string]json.RawMessage) *conversing {
	t.Helper()
	agent := &spec.Agent{ID: "a"}
	env, errs := execution.Build(agent, []execution.Loaded{{ID: window.ID, Plugin: p, Core: true}}, nil)
	if errs != nil {
		t.Fatal(errors.Join(errs...))
	}
	c := &conversing{tb: t, engine: execution.NewEngine(env, nil), spent: map[string]model.Usage{}}
	if err := c.engine.Restore(execution.State{Session: session}); err != nil {
		t.Fatal(err)
	}
	c.engine.Emit = func(data event.Data) { c.events = append(c.events, data) }
	c.engine.Spend = func(usage model.Usage, modelID string) {
		sum := c.spent[modelID]
		sum.Add(usage)
		c.spent[modelID] = sum
	}
	c.engine.Context.Agent, c.engine.Context.Stats, c.engine.Context.TurnID = agent, &plugins.Stats{}, "t"
	return c
}

// session returns the state that the turn leaves, as it is stored.
func (c *conversing) session() map[string]json.RawMessage {
	c.tb.Helper()
	state := c.engine.Export()
	return state.Session
}

// prepare runs the hooks before a request.
func (c *conversing) prepare(ctx context.Context, conversation []model.Message) error {
	at := &c.engine.Context
	at.Messages, at.HistoryLength, at.InputLength = conversation, c.history, c.input
	if n := untilUser(conversation); c.input == 0 && n > 0 {
		at.HistoryLength, at.InputLength = n-1, 1
	}
	err := c.engine.Run(ctx, plugins.BeforeInference)
	return err
}

// untilUser counts the messages up to the last of the user.
func untilUser(conversation []model.Message) int {
	n := len(conversation)
	for n > 0 && conversation[n-1].Role != model.RoleUser {
		n--
	}
	return n
}

// request returns what is sent of a conversation.
func (c *conversing) request(conversation []model.Message) []model.Message {
	c.tb.Helper()
	if err := c.prepare(context.Background(), conversation); err != nil {
		c.tb.Fatal(err)
	}
	sent, err := c.engine.Transform(slices.Concat(c.before, conversation, c.after), c.tools)
	if err != nil {
		c.tb.Fatal(err)
	}
	answer := model.Assistant("ok")
	c.engine.Context.Messages, c.engine.Context.Answer = append(slices.Clip(conversation), answer), &answer
	if err := c.engine.Run(context.Background(), plugins.AfterInference); err != nil {
		c.tb.Fatal(err)
	}
	c.engine.Context.Answer = nil
	return sent
}

// eventsOf returns the events of a type.
func eventsOf[T event.Data](c *conversing) []T {
	var all []T
	for _, data := range c.events {
		if e, ok := data.(T); ok {
			all = append(all, e)
		}
	}
	return all
}

// fits is a plugin that leaves so many tokens for messages and tools, and never
// summarizes.
func fits(tokens int, change ...func(p *window.Policy)) *window.Plugin {
	p := window.Resolve(nil, 0, 0)
	p.OutputTokens = 1000
	p.ContextTokens = tokens + p.OutputTokens
	p.MinRecentMessages = 2
	for _, f := range change {
		f(&p)
	}
	return window.New(p, window.Summarizer{})
}

// calling is an answer with calls of the tool x.
func calling(ids ...string) model.Message {
	m := model.Message{Role: model.RoleAssistant}
	for _, id := range ids {
		m.Parts = append(m.Parts, model.Part{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: id, Name: "x", Arguments: []byte(`{}`)}})
	}
	return m
}

// result is a message with the result of a call of the tool x.
func result(id, text string) model.Message {
	return model.Message{Role: model.RoleTool, Parts: []model.Part{{Type: model.PartToolResult, ToolResult: &model.ToolResult{
		CallID: id, Name: "x", Content: []model.Part{model.Text(text)},
	}}}}
}

// words is a text of about so many tokens.
func words(tokens int) string { return strings.Repeat("abc ", tokens) }

// outline writes messages down, one a line, long texts as their beginning.
func outline(messages []model.Message) []string {
	const most = 40
	clip := func(text string) string {
		if len(text) > most {
			return text[:most] + "…"
		}
		return text
	}
	var lines []string
	for i := range messages {
		line := string(messages[i].Role) + ":"
		for _, p := range messages[i].Parts {
			switch {
			case p.ToolCall != nil:
				line += " call " + p.ToolCall.ID
			case p.ToolResult != nil:
				line += " result " + p.ToolResult.CallID + " " + clip(model.PartsText(p.ToolResult.Content))
				if p.ToolResult.IsError {
					line += "!"
				}
			default:
				line += " " + clip(p.Text)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// writer is a model that writes summaries.
type writer struct {
	text     string
	reason   model.FinishReason
	err      error
	requests []*model.Request
}

func (w *writer) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	w.requests = append(w.requests, req)
	return func(yield func(model.Event, error) bool) {
		if w.err != nil {
			yield(model.Event{}, w.err)
			return
		}
		if w.text != "" && !yield(model.Event{Type: model.EventText, Delta: w.text}, nil) {
			return
		}
		reason := w.reason
		if reason == "" {
			reason = model.FinishStop
		}
		yield(model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 100, Output: 10}}, nil)
	}
}
