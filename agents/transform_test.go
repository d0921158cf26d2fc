package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
)

// counting adds an entry, emits a public and a secret text, and creates an artifact.
func counting(_ context.Context, turn *agents.Turn[ledger]) (*agents.Result, error) {
	err := turn.Update(func(l *ledger) error {
		l.Turns++
		l.Entries = map[string]int{"public": l.Turns, "secret": 42}
		return nil
	})
	return &agents.Result{Text: "done"}, errors.Join(err, turn.SendText("a public word, "), turn.SendText("a secret word"),
		turn.SendArtifact(wire.Artifact{Name: "report", Parts: []wire.Part{wire.NewTextPart("of secret things")}}))
}

// hiding are transforms that hide everything secret.
var hiding = agents.Options[ledger]{
	StateTransform: func(_ context.Context, s *agents.State[ledger]) (*agents.State[ledger], error) {
		delete(s.Custom.Entries, "secret")
		return s, nil
	},
	StreamTransform: func(_ context.Context, chunk *wire.Chunk) (*wire.Chunk, error) {
		if chunk.Artifact != nil {
			return nil, nil //nolint:nilnil // it is left out
		}
		if m := chunk.ModelChunk; m != nil && m.Content[0].Text != nil {
			*m.Content[0].Text = strings.ReplaceAll(*m.Content[0].Text, "secret", "***")
		}
		return chunk, nil
	},
}

// seen returns a client's view of two turns: all chunks and the last output.
func seen(t *testing.T, agent *agents.Agent[ledger]) (chunks string, last *agents.Output[ledger]) {
	t.Helper()
	source := agents.FromSession("s")
	for range 2 {
		if last != nil && last.State != nil {
			source = agent.FromState(last.State)
		} else if last == nil && agent.Name() == "client" {
			source = agents.Source{}
		}
		for piece, err := range agent.StreamText(t.Context(), source, "go") {
			if err != nil {
				t.Fatal(err)
			}
			if piece.Output != nil {
				last = piece.Output
				continue
			}
			text, err := json.Marshal(piece.Chunk)
			if err != nil {
				t.Fatal(err)
			}
			chunks += string(text) + "\n"
		}
	}
	return chunks, last
}

func TestTransformsShowCallersLessAndKeepAll(t *testing.T) {
	onClient := hiding
	onClient.ClientManaged = true
	server, err := agents.Custom("server", counting, hiding)
	client, err2 := agents.Custom("client", counting, onClient)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	serveSet(t, newRuntime(t, yes{}, server, client), server, client)
	for _, agent := range []*agents.Agent[ledger]{server, client} {
		chunks, last := seen(t, agent)
		if strings.Contains(chunks, "secret") || !strings.Contains(chunks, "a public word") || !strings.Contains(chunks, `"customPatch"`) {
			t.Errorf("%s: the stream shows\n%s", agent.Name(), chunks)
		}
		state := last.State
		if agent == server {
			kept, err := agent.GetSnapshot(t.Context(), last.SnapshotID)
			if err != nil {
				t.Fatal(err)
			}
			state = kept.State
		}
		if _, shown := state.Custom.Entries["secret"]; shown || state.Custom.Turns != 2 || state.Custom.Entries["public"] != 2 {
			t.Errorf("%s: the state is %+v", agent.Name(), state.Custom)
		}
		if len(last.Artifacts) != 1 || last.Artifacts[0].Name != "report" {
			t.Errorf("%s: the artifacts are %+v", agent.Name(), last.Artifacts)
		}
		if text := last.Message.Text(); last.FinishReason != wire.FinishStop || text != "done" {
			t.Errorf("%s: %s %q", agent.Name(), last.FinishReason, text)
		}
	}
}

func TestATransformThatFailsShowsNothing(t *testing.T) {
	broken := errors.New("cannot hide it")
	for name, o := range map[string]agents.Options[ledger]{
		"an error of chunks": {StreamTransform: func(context.Context, *wire.Chunk) (*wire.Chunk, error) { return nil, broken }},
		"a panic of chunks":  {StreamTransform: func(context.Context, *wire.Chunk) (*wire.Chunk, error) { panic(broken) }},
		"an error of state":  {StateTransform: func(context.Context, *agents.State[ledger]) (*agents.State[ledger], error) { return nil, broken }},
		"a panic of state":   {StateTransform: func(context.Context, *agents.State[ledger]) (*agents.State[ledger], error) { panic(broken) }},
	} {
		t.Run(name, func(t *testing.T) {
			agent, err := agents.Custom("server", counting, o)
			if err != nil {
				t.Fatal(err)
			}
			serveSet(t, newRuntime(t, yes{}, agent), agent)
			failed := false
			var text strings.Builder
			for piece, err := range agent.StreamText(t.Context(), agents.FromSession("s"), "go") {
				if failed = failed || err != nil; err == nil && piece.Chunk != nil && piece.Chunk.CustomPatch != nil {
					t.Errorf("it shows %+v", piece.Chunk)
				}
				if err != nil {
					text.WriteString(err.Error())
				}
			}
			// The stream may fail before the turn has stored its snapshot.
			onState := o.StateTransform != nil
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for err = nil; err == nil && ctx.Err() == nil; {
				var latest *agents.Snapshot[ledger]
				if latest, err = agent.LatestSnapshot(ctx, "s"); latest != nil {
					break
				}
			}
			if !failed || (err != nil) != onState || ctx.Err() != nil {
				t.Errorf("the stream failed: %t %s; the snapshot: %v", failed, text.String(), err)
			}
		})
	}
}
