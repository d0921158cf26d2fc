package agents_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/google/go-cmp/cmp"
)

// TestWhatAccompaniesAMessageIsKept sends metadata and more with a message and its parts. The data
// returns with the conversation, wherever the conversation is stored.
func TestWhatAccompaniesAMessageIsKept(t *testing.T) {
	input := new(wire.Input)
	text := `{"message":{"role":"user","content":[
		{"text":"look","metadata":{"lang":"en"},"data":[1,2.50]},
		{"media":{"contentType":"text/plain","url":"data:text/plain;base64,aGk="},"custom":{"shown":true}},
		{"text":"twice"}],"metadata":{"by":{"id":7}}}}`
	if err := json.Unmarshal([]byte(text), input); err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T, got *agents.State[ledger], err error) {
		t.Helper()
		if err != nil || got == nil || len(got.Messages) != 4 {
			t.Fatalf("%v, %+v", err, got)
		}
		if diff := cmp.Diff(*input.Message, got.Messages[0]); diff != "" {
			t.Error(diff)
		}
		if len(got.Messages[1].Metadata)+len(got.Messages[2].Metadata) > 0 {
			t.Errorf("%+v", got.Messages)
		}
	}
	code := func(context.Context, *agents.Turn[ledger]) (*agents.Result, error) {
		return &agents.Result{Text: "seen"}, nil
	}
	for name, agent := range both(t, code) {
		first, err := agent.Run(t.Context(), agents.Source{}, input)
		if err != nil || first.Error != nil {
			t.Fatal(name, err, first)
		}
		source := agents.FromSession(first.SessionID)
		if first.State != nil {
			source = agent.FromState(first.State)
		}
		second, err := agent.RunText(t.Context(), source, "and")
		if err != nil || second.Error != nil {
			t.Fatal(name, err, second)
		}
		state := second.State
		if state == nil {
			kept, err := agent.GetSnapshot(t.Context(), second.SnapshotID)
			if err != nil {
				t.Fatal(err)
			}
			state = kept.State
		}
		check(t, state, err)
	}
	eachStore(t, func(t *testing.T, open opener) {
		p := newPlaceOn(t, open)
		out, err := p.agent.Run(t.Context(), agents.Source{}, input)
		if err != nil || out.Error != nil {
			t.Fatal(err, out)
		}
		kept, err := p.agent.GetSnapshot(t.Context(), out.SnapshotID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*input.Message, kept.State.Messages[0]); diff != "" {
			t.Error(diff)
		}
	})
}
