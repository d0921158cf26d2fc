package agents_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/memory"
)

// yes is a model that answers with one word.
type yes struct{}

func (yes) Vendor() string { return "openai" }

func (yes) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if yield(model.Event{Type: model.EventText, Delta: "Yes."}, nil) {
			yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop, Usage: &model.Usage{Input: 1, Output: 1}}, nil)
		}
	}
}

// newRuntime returns a runtime with the agent plain and the given agents.
func newRuntime(t testing.TB, provider model.Executor, list ...agents.Definition) *runtime.AgentRuntime {
	t.Helper()
	b := builder.New().WithProvider("main", provider).WithModel(spec.Model{ID: "m", ProviderID: "main", UpstreamModel: "m"}).
		WithAgentSpec(spec.Agent{ID: "plain", ModelID: "m", AllowedTools: spec.Names{}})
	if err := agents.Install(b, list...); err != nil {
		t.Fatal(err)
	}
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	return rt
}

// BenchmarkRun is the baseline of BenchmarkConnect.
func BenchmarkRun(b *testing.B) {
	rt := newRuntime(b, yes{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rt.Run(b.Context(), runtime.Prompt("plain", "Well?"), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkConnect is a conversation of one turn in memory.
func BenchmarkConnect(b *testing.B) {
	agent, err := agents.Declared("plain", agents.Options[struct{}]{ClientManaged: true})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := agents.NewSet(agents.Settings{Runtime: newRuntime(b, yes{}), Agents: []agents.Definition{agent}}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		talk, err := agent.Connect(b.Context(), agents.Source{})
		if err == nil {
			err = talk.SendText(b.Context(), "Well?")
		}
		if err != nil {
			b.Fatal(err)
		}
		if out, err := talk.Output(b.Context()); err != nil || out.Text() != "Yes." {
			b.Fatal(err)
		}
	}
}

// BenchmarkConnectStored runs a turn of a conversation whose turns belong to the service, in a
// memory store.
func BenchmarkConnectStored(b *testing.B) {
	agent, err := agents.Declared("plain", agents.Options[struct{}]{})
	if err != nil {
		b.Fatal(err)
	}
	serveSet(b, newRuntime(b, yes{}), agent)
	b.ReportAllocs()
	for b.Loop() {
		if out, err := agent.RunText(b.Context(), agents.Source{}, "Well?"); err != nil || out.Text() != "Yes." {
			b.Fatal(err)
		}
	}
}

// BenchmarkConnectStoredAgain is BenchmarkConnectStored with an existing session and a turn in its
// history.
func BenchmarkConnectStoredAgain(b *testing.B) {
	agent, err := agents.Declared("plain", agents.Options[struct{}]{})
	if err != nil {
		b.Fatal(err)
	}
	serveSet(b, newRuntime(b, yes{}), agent)
	first, err := agent.RunText(b.Context(), agents.Source{}, "Well?")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if out, err := agent.RunText(b.Context(), agents.FromSnapshot(first.SnapshotID), "Well?"); err != nil || out.Text() != "Yes." {
			b.Fatal(err)
		}
	}
}

// BenchmarkServiceTurn is the baseline of BenchmarkConnectStored: a service turn in a new session,
// and its outcome.
func BenchmarkServiceTurn(b *testing.B) {
	_, s := serveSet(b, newRuntime(b, yes{}))
	caller := service.Operator()
	b.ReportAllocs()
	for b.Loop() {
		session, err := s.CreateSession(b.Context(), caller, service.CreateSession{AgentID: "plain"})
		if err != nil {
			b.Fatal(err)
		}
		turn, err := s.CreateTurn(b.Context(), caller, service.CreateTurn{SessionID: session.ID, Input: []model.Message{model.User("Well?")}, Background: true})
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range s.Events(b.Context(), caller, turn.ID, 0) {
			if err != nil {
				b.Fatal(err)
			}
		}
		if turn, err = s.GetTurn(b.Context(), caller, turn.ID); err != nil || turn.Outcome.Response != "Yes." {
			b.Fatal(err)
		}
	}
}

// maxOpenLongSession is the limit on the median time to open a session of 10,000 messages by its
// snapshot ID.
const maxOpenLongSession = 5 * time.Millisecond

// BenchmarkOpenLongSession opens a session of 10,000 messages by its snapshot ID. It fails if the
// median time is too long.
func BenchmarkOpenLongSession(b *testing.B) {
	for name, open := range map[string]func(testing.TB) opener{"memory": onMemory, "sqlite": onSQLite, "postgres": onPostgres} {
		b.Run(name, func(b *testing.B) {
			agent, err := agents.Custom("long", addThousands, agents.Options[struct{}]{})
			if err != nil {
				b.Fatal(err)
			}
			kept, queue := open(b)(b)
			serveOn(b, newRuntime(b, yes{}, agent), kept, queue, agent)
			out, err := agent.RunText(b.Context(), agents.Source{}, "Begin.")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if _, err := agent.Connect(b.Context(), agents.FromSnapshot(out.SnapshotID)); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			b.StopTimer()
			slices.Sort(took)
			half := took[len(took)/2]
			b.ReportMetric(float64(half.Microseconds())/1000, "p50-ms")
			if len(took) > 100 && half > maxOpenLongSession {
				b.Errorf("half of the times it takes more than %s: %s", maxOpenLongSession, half)
			}
			whole, err := agent.GetSnapshot(b.Context(), out.SnapshotID)
			if err != nil || len(whole.State.Messages) != 10_000 {
				b.Fatalf("%v, %d messages", err, len(whole.State.Messages))
			}
		})
	}
}

// addThousands grows the conversation to 10,000 messages.
func addThousands(_ context.Context, t *agents.Turn[struct{}]) (*agents.Result, error) {
	for i := range 9_998 {
		m := model.Assistant("a message of some length, as they are said in conversations")
		if i%2 == 1 {
			m.Role = model.RoleUser
		}
		if err := t.AddMessages(m); err != nil {
			return nil, err
		}
	}
	return &agents.Result{Text: "Done."}, nil
}

// serveSet returns the agents of a service on a memory store.
func serveSet(t testing.TB, rt *runtime.AgentRuntime, list ...agents.Definition) (*agents.Set, *service.Service) {
	t.Helper()
	return serveOn(t, rt, closing(t, memory.New(store.Settings{})), newQueue(), list...)
}

// serveOn returns the agents of a service on a store.
func serveOn(t testing.TB, rt *runtime.AgentRuntime, kept store.Store, queue dispatch.Dispatcher, list ...agents.Definition) (*agents.Set, *service.Service) {
	t.Helper()
	s := service.New(service.Settings{Runtime: rt, Store: kept, Dispatcher: queue})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	set, err := agents.NewSet(agents.Settings{Service: s, Agents: list})
	if err != nil {
		t.Fatal(err)
	}
	return set, s
}

// BenchmarkPatch changes one field of a state of 100 KB.
func BenchmarkPatch(b *testing.B) {
	var state strings.Builder
	state.WriteString(`{"rows":[`)
	for i := range 1000 {
		if i > 0 {
			state.WriteByte(',')
		}
		fmt.Fprintf(&state, `{"id":%d,"name":"row number %d","note":%q}`, i, i, strings.Repeat("x", 50))
	}
	state.WriteString(`],"counter":1}`)
	from := []byte(state.String())
	to := []byte(strings.Replace(state.String(), `"counter":1`, `"counter":2`, 1))
	size := 0
	b.SetBytes(int64(len(from)))
	b.ReportAllocs()
	for b.Loop() {
		size = 0
		for _, op := range runtime.DiffCustom(from, to) {
			size += len(op.Op) + len(op.Path) + len(op.Value)
		}
	}
	b.ReportMetric(float64(size), "patch-bytes")
}

// rows is a custom state of 100 KB.
type rows struct {
	Rows    []row `json:"rows"`
	Counter int   `json:"counter"`
}

type row struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
	Note string `json:"note"`
}

// BenchmarkUpdate changes one field of a typed state of 100 KB in code, with its patch.
func BenchmarkUpdate(b *testing.B) {
	agent, err := agents.Custom("rows", func(_ context.Context, t *agents.Turn[rows]) (*agents.Result, error) {
		err := t.Update(func(state *rows) error {
			for i := range 1000 {
				state.Rows = append(state.Rows, row{i, fmt.Sprintf("row number %d", i), strings.Repeat("x", 50)})
			}
			return nil
		})
		b.ReportAllocs()
		for err == nil && b.Loop() {
			err = t.Update(func(state *rows) error { state.Counter++; return nil })
		}
		return nil, err
	}, agents.Options[rows]{ClientManaged: true})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := agents.NewSet(agents.Settings{Runtime: newRuntime(b, yes{}, agent), Agents: []agents.Definition{agent}}); err != nil {
		b.Fatal(err)
	}
	if out, err := agent.RunText(b.Context(), agents.Source{}, "Go."); err != nil || out.Error != nil {
		b.Fatal(err, out)
	}
}
