package agentruns

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// caller is a model that calls each tool it is offered once, and then repeats the
// results.
type caller struct {
	arguments string

	mu       sync.Mutex
	requests []*model.Request
}

func (*caller) Vendor() string { return "openai" }

func (c *caller) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	c.mu.Lock()
	c.requests = append(c.requests, req)
	c.mu.Unlock()
	return func(yield func(model.Event, error) bool) {
		last := &req.Messages[len(req.Messages)-1]
		var events []model.Event
		reason := model.FinishStop
		if last.Role == model.RoleTool {
			var texts []string
			for i := range last.Parts {
				texts = append(texts, model.PartsText(last.Parts[i].ToolResult.Content))
			}
			events = append(events, model.Event{Type: model.EventText, Delta: strings.Join(texts, ", ")})
		} else {
			reason = model.FinishToolCalls
			for i, offered := range req.Tools {
				events = append(events,
					model.Event{Type: model.EventToolCallStart, Index: i, ID: fmt.Sprintf("call%d", i), Name: offered.Name},
					model.Event{Type: model.EventToolCallEnd, Index: i, Delta: c.arguments})
			}
		}
		for _, ev := range append(events, model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 1, Output: 1}}) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

var owner = service.Caller{Tenant: "acme", Subject: "alice"}

// running returns a service that works on runs, and what composes them.
func running(t *testing.T, exec *caller, tools TurnToolsSettings) (*service.Service, *composer) {
	t.Helper()
	rt, err := builder.New().WithProvider("main", exec).WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "gpt-5.5"}).
		WithTool("weather", noop{}).WithTool("secret_door", noop{}).Build()
	if err != nil {
		t.Fatal(err)
	}
	kept := memory.New(store.Settings{})
	t.Cleanup(func() { _ = kept.Close() })
	s := service.New(service.Settings{
		Runtime: rt, Store: kept, Dispatcher: local.New(local.Settings{Concurrency: 2}), TurnTools: NewTurnTools(tools),
	})
	t.Cleanup(s.Close)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, &composer{set: rt.Revision().Set(), guarded: guardsNothing, settings: Settings{LocalToolTimeout: time.Minute}}
}

// begin begins a run in a session of its own.
func begin(t *testing.T, s *service.Service, c *composer, text string) *service.Turn {
	t.Helper()
	session, err := s.CreateSession(t.Context(), owner, service.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	turn := *c.must(t, text)
	turn.SessionID = session.ID
	made, err := s.CreateTurn(t.Context(), owner, turn)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// asked waits until a run waits for its client, and returns for what.
func asked(t *testing.T, s *service.Service, id string, n int) []*service.Interaction {
	t.Helper()
	for record, err := range s.Events(t.Context(), owner, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if record.Terminal() {
			t.Fatalf("the run ended with %s", record.Data)
		}
		open, err := s.ListInteractions(t.Context(), owner, store.InteractionQuery{TurnID: id})
		if err != nil {
			t.Fatal(err)
		}
		if len(open) == n {
			return open
		}
	}
	t.Fatal("the run asks for too little")
	return nil
}

func TestARunAsksItsClient(t *testing.T) {
	exec := &caller{arguments: `{"message":"hi"}`}
	s, c := running(t, exec, TurnToolsSettings{CallPeer: func(_ context.Context, call PeerCall) (string, error) {
		return call.Message + " from " + call.Headers["X"], nil
	}})
	run := begin(t, s, c, tool(`{"kind":"local","name":"look"},{"kind":"a2a_local","name":"peer","agentCard":{"name":"P"}},
		{"kind":"mcp_local","name":"fs","tools":[{"name":"read.file"}]},{"kind":"mantyx","id":"weather"},`+clerkRef+`,{"kind":"mcp","name":"gone","url":"https://x.example"}`))
	open := asked(t, s, run.ID, 3)
	answers := map[string]string{"look": `{"result":"seen"}`, "peer": `{"error":"no"}`, "read.file": `{"result":""}`}
	for _, i := range open {
		answer, known := answers[i.Request.Tool]
		if !known || i.Request.Action != clienttool.Action || string(i.Request.Arguments) != `{"message":"hi"}` {
			t.Errorf("it asks %+v", i.Request)
		}
		if _, err := s.AnswerInteraction(t.Context(), owner, run.ID, interaction.Answer{Target: i.Request.CallID, Result: json.RawMessage(answer)}); err != nil {
			t.Fatal(err)
		}
	}
	ended, err := s.WaitTurn(t.Context(), owner, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	var offered []string
	for _, o := range exec.requests[0].Tools {
		offered = append(offered, o.Name)
	}
	if want := []string{"clerk", "gone_unavailable", "look", "peer", "read_file", "weather"}; !slices.Equal(offered, want) {
		t.Errorf("the model was offered %v", offered)
	}
	const want = `hi from y, the MCP server gone cannot be reached: this server reaches no MCP servers, seen, no, , `
	if ended.Status != store.Succeeded || ended.Outcome.Response != want {
		t.Errorf("the run is %s and says %q", ended.Status, ended.Outcome.Response)
	}
}

func TestAnAnswerThatIsNoneIsRefused(t *testing.T) {
	s, c := running(t, &caller{arguments: `{}`}, TurnToolsSettings{})
	run := begin(t, s, c, tool(`{"kind":"local","name":"look"}`))
	asked(t, s, run.ID, 1)
	for _, answer := range []string{`{}`, `{"result":"a","error":"b"}`, `"text"`, `{"result":1}`} {
		if _, err := s.AnswerInteraction(t.Context(), owner, run.ID, interaction.Answer{Target: "call0", Result: json.RawMessage(answer)}); err == nil {
			t.Errorf("%s is taken", answer)
		}
	}
	if _, err := s.CancelTurn(t.Context(), owner, run.ID, "enough"); err != nil {
		t.Fatal(err)
	}
}

func TestArgumentsThatDoNotFitNeverReachTheClient(t *testing.T) {
	s, c := running(t, &caller{arguments: `{"path":1}`}, TurnToolsSettings{})
	run := begin(t, s, c, tool(`{"kind":"mcp_local","name":"fs","tools":[{"name":"read","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}`))
	ended, err := s.WaitTurn(t.Context(), owner, run.ID)
	if err != nil || ended.Status != store.Succeeded || !strings.HasPrefix(ended.Outcome.Response, "tool_input_invalid") {
		t.Errorf("it is %+v, %v", ended.Outcome, err)
	}
}
