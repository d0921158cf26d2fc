package docs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

//docs:region descriptor

// callBudget limits an agent's tool calls per turn.
type callBudget struct {
	// report receives the number of calls of a turn. It belongs to the plugin, not to a turn, so it
	// must be safe for concurrent use.
	report func(calls int)
}

var _ plugins.Plugin = (*callBudget)(nil)

// budgetSettings is an agent's call_budget section.
type budgetSettings struct {
	MaxCalls int `json:"max_calls"`
}

const budgetSchema = `{
  "type": "object",
  "properties": {"max_calls": {"type": "integer", "minimum": 0}},
  "additionalProperties": false
}`

// Descriptor describes the plugin and claims its section.
func (*callBudget) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{
		Summary: "Limits the tool calls of a turn.",
		Sections: []plugins.Section{plugins.NewSection("call_budget",
			"How many tools a turn may call.", json.RawMessage(budgetSchema),
			plugins.DecodeInto(budgetSettings{MaxCalls: 20}))},
	}
}

//docs:end

//docs:region register

// callsMade is turn state. The engine stores it, reports it in events, and reverts the changes of
// failed phases.
var callsMade = plugins.NewKey[int]("call_budget.calls", plugins.ScopeRun)

const reportEffect = "call_budget.report"

// Register runs on every resolve of the agent. Its closures belong to one turn.
func (b *callBudget) Register(r *plugins.Registrar) error {
	settings, ok := plugins.Config[budgetSettings](r, "call_budget")
	if !ok {
		return fmt.Errorf("the section call_budget has another type")
	}
	r.StateKey(callsMade)
	r.ToolGate(budgetGate{settings.MaxCalls})
	r.Hook(plugins.BeforeToolExecute, func(_ context.Context, p *plugins.PhaseContext) error {
		callsMade.Set(p, callsMade.Get(p)+1)
		return nil
	})
	r.Hook(plugins.BeforeInference, func(_ context.Context, p *plugins.PhaseContext) error {
		left := settings.MaxCalls - callsMade.Get(p)
		p.Schedule(core.AddContextMessage, plugins.ContextMessage{
			Key: "call_budget", Target: plugins.TargetSuffix,
			Text: fmt.Sprintf("You may call %d more tools.", left),
		})
		return nil
	})
	plugins.HandleEffect(r, reportEffect, func(_ context.Context, calls int) error {
		b.report(calls)
		return nil
	})
	r.Hook(plugins.RunEnd, func(_ context.Context, p *plugins.PhaseContext) error {
		p.Effect(reportEffect, callsMade.Get(p))
		return nil
	})
	return nil
}

//docs:end

//docs:region gate

// budgetGate decides about each call before it runs.
type budgetGate struct{ limit int }

var _ plugins.StaticGate = budgetGate{}

// Check blocks a call that exceeds the budget. A gate can read state but not write it.
func (g budgetGate) Check(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
	if callsMade.Get(p) >= g.limit {
		return plugins.Decision{Kind: plugins.Block, Reason: "the turn has used up its tool calls"}, nil
	}
	return plugins.Decision{}, nil
}

// Verdict predicts decisions before any call. Without a budget every tool is
// denied, so none is offered to the model.
func (g budgetGate) Verdict(string) plugins.Verdict {
	if g.limit == 0 {
		return plugins.Verdict{Access: plugins.AccessDeny, Rule: "call_budget.max_calls is 0"}
	}
	return plugins.Verdict{}
}

//docs:end

//docs:region transform

// redactor hides a word from the model but not from the conversation.
type redactor struct{ word string }

var _ plugins.Plugin = redactor{}

// Descriptor describes the plugin.
func (redactor) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{Summary: "Hides a word from models."}
}

// Register adds the transform, which must not modify its input messages.
func (d redactor) Register(r *plugins.Registrar) error {
	r.RequestTransform(func(messages []model.Message, _ []model.Tool) []model.Message {
		out := make([]model.Message, len(messages))
		for i, m := range messages {
			out[i] = m
			out[i].Parts = make([]model.Part, len(m.Parts))
			for j, part := range m.Parts {
				part.Text = strings.ReplaceAll(part.Text, d.word, "[hidden]")
				out[i].Parts[j] = part
			}
		}
		return out
	})
	return nil
}

//docs:end

func Example_plugin() {
	ping := &tools.Func[struct{}, string]{
		Description: "Answers pong.", Effect: tools.Read,
		Run: func(context.Context, struct{}) (string, error) { return "pong", nil },
	}
	two := []model.ToolCall{{Name: "ping"}, {Name: "ping"}}
	demo, err := scripted.New(scripted.Script{Replies: []scripted.Reply{{ToolCalls: two}, {Text: "Done."}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	//docs:region use
	rt, err := builder.New().
		WithProvider("demo", demo).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo"}).
		WithTool("ping", ping).
		WithPlugin("budget", &callBudget{report: func(calls int) { fmt.Println("calls made:", calls) }}).
		WithPlugin("redactor", redactor{word: "secret"}).
		WithAgentSpec(spec.Agent{
			ID: "assistant", ModelID: "default", PluginIDs: []string{"budget", "redactor"},
			Sections: spec.Sections{"call_budget": json.RawMessage(`{"max_calls": 1}`)},
		}).
		Build()
	//docs:end
	if err != nil {
		fmt.Println(err)
		return
	}
	watch := event.SinkFunc(func(ev event.Event) {
		if done, ok := ev.Data.(*event.ToolCallDone); ok {
			fmt.Println(done.Outcome, done.Result.Text())
		}
	})
	if _, err := rt.Run(context.Background(), runtime.Prompt("assistant", "Ping twice."), watch); err != nil {
		fmt.Println(err)
	}
	// Output:
	// failed the turn has used up its tool calls
	// succeeded pong
	// calls made: 1
}
