package agents_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/snapshottest"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// declareAskers returns the same declared agent in each of its store modes.
func declareAskers(t *testing.T, open opener) map[string]*agents.Agent[ledger] {
	t.Helper()
	modes := map[string]agents.Options[ledger]{"service": {}, "client": {ClientManaged: true}, "own": {Snapshots: snapshottest.NewMemory()}}
	b := builder.New().WithProvider("main", clerk{}).WithModel(spec.Model{ID: "m", ProviderID: "main", UpstreamModel: "m"}).
		WithTool("work", act{gate: new(gate)}).WithTool("ask", act{asks: true})
	made, list := make(map[string]*agents.Agent[ledger]), []agents.Definition(nil)
	for name, options := range modes {
		agent, err := agents.Declared(name, options)
		if err != nil {
			t.Fatal(err)
		}
		b.WithAgentSpec(spec.Agent{ID: name, ModelID: "m"})
		made[name], list = agent, append(list, agent)
	}
	if err := agents.Install(b, list...); err != nil {
		t.Fatal(err)
	}
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	kept, queue := open(t)
	s := service.New(service.Settings{Runtime: rt, Store: kept, Dispatcher: queue})
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		_ = rt.Close()
	})
	set, err := agents.NewSet(agents.Settings{Service: s, Agents: list})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	return made
}

// answerAll returns the input that answers all open requests of an output.
func answerAll(t *testing.T, output *agents.Output[ledger]) *wire.Input {
	t.Helper()
	open := output.Interrupts()
	if len(open) == 0 {
		t.Fatalf("nothing is asked: %+v", output)
	}
	answers := make([]wire.Part, len(open))
	for i := range open {
		var err error
		if answers[i], err = agents.Answer(&open[i], "yes"); err != nil {
			t.Fatal(err)
		}
	}
	return agents.Respond(answers...)
}

// saidIn returns the role and the text, or the result, of each part of a state.
func saidIn(state *agents.State[ledger]) []string {
	var said []string
	for _, m := range state.Messages {
		for i := range m.Content {
			switch part := &m.Content[i]; {
			case part.Text != nil:
				said = append(said, string(m.Role)+": "+*part.Text)
			case part.ToolResponse != nil:
				var text string
				_ = json.Unmarshal(part.ToolResponse.Output, &text)
				said = append(said, string(m.Role)+": "+text)
			}
		}
	}
	return said
}

// TestAMessageAccompaniesAnAnswer: the model reads the results of its calls, then the user's
// additional message. Here the message triggers another question, so the second answer carries
// another message.
func TestAMessageAccompaniesAnAnswer(t *testing.T) {
	want := []string{"user: ask", "tool: yes", "tool: yes", "user: ask me again", "tool: yes", "tool: yes", "user: thanks", "model: Done.", "user: bye", "model: Done."}
	eachStore(t, func(t *testing.T, open opener) {
		for name, agent := range declareAskers(t, open) {
			t.Run(name, func(t *testing.T) {
				talk, err := agent.Connect(t.Context(), agents.Source{})
				if err != nil {
					t.Fatal(err)
				}
				send := func(input *wire.Input, reason wire.FinishReason) *agents.Output[ledger] {
					t.Helper()
					if err := talk.Send(t.Context(), input); err != nil {
						t.Fatal(err)
					}
					output, err := talk.Output(t.Context())
					if err != nil || output.FinishReason != reason {
						t.Fatalf("%v, %+v", err, output)
					}
					return output
				}
				asked := send(agents.Text("ask"), wire.FinishInterrupted)
				for _, text := range []string{"ask me again", "thanks"} {
					answer := answerAll(t, asked)
					answer.Message = agents.Text(text).Message
					reason := wire.FinishStop
					if text == "ask me again" {
						reason = wire.FinishInterrupted
					}
					asked = send(answer, reason)
				}
				last := send(agents.Text("bye"), wire.FinishStop)
				state := last.State
				if state == nil {
					kept, err := agent.GetSnapshot(t.Context(), last.SnapshotID)
					if err != nil {
						t.Fatal(err)
					}
					state = kept.State
				}
				if said := saidIn(state); !slices.Equal(said, want) {
					t.Errorf("%q", said)
				}
			})
		}
	})
}

// TestAnInvalidMessageBesideAnAnswerChangesNothing: the turn still waits afterwards.
func TestAnInvalidMessageBesideAnAnswerChangesNothing(t *testing.T) {
	for name, agent := range declareAskers(t, onMemory(t)) {
		asked, err := agent.RunText(t.Context(), agents.Source{}, "ask")
		if err != nil {
			t.Fatal(name, err)
		}
		from := agents.FromSnapshot(asked.SnapshotID)
		if asked.State != nil {
			from = agent.FromState(asked.State)
		}
		answer := answerAll(t, asked)
		answer.Message = &wire.Message{Role: wire.RoleModel, Content: []wire.Part{wire.NewTextPart("I am the model")}}
		if output, err := agent.Run(t.Context(), from, answer); err != nil || output.Error == nil || output.Error.Status != wire.StatusInvalidArgument {
			t.Errorf("%s: %v, %+v", name, err, output)
		}
		answer.Message = nil
		if output, err := agent.Run(t.Context(), from, answer); err != nil || output.FinishReason != wire.FinishStop {
			t.Errorf("%s: %v, %+v", name, err, output)
		}
	}
}

func TestASnapshotMustBeInTheSessionOfItsSource(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		p := newPlaceOn(t, open)
		out, err := p.agent.RunText(t.Context(), agents.FromSession("s"), "work")
		if err != nil {
			t.Fatal(err)
		}
		snapshot := agents.FromSnapshot(out.SnapshotID)
		if next, err := p.agent.RunText(t.Context(), snapshot.InSession("s"), "hello"); err != nil || next.Error != nil {
			t.Error("its own session:", err, next)
		}
		for _, other := range []string{"other", ""} {
			if _, err := p.agent.RunText(t.Context(), snapshot.InSession(other), "hello"); err == nil {
				t.Errorf("no error for the session %q", other)
			}
		}
	})
}
