package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// tallying returns a runtime whose agent "clerk" counts its turns in the state
// of the session, and writes the count into a report. Every third turn fails.
func tallying(t testing.TB) *runtime.AgentRuntime {
	t.Helper()
	tally := turntest.ToolFunc(func(_ context.Context, call *tools.Call) (tools.Result, error) {
		var state struct {
			Turns  int    `json:"turns"`
			Secret string `json:"secret"`
		}
		err := call.Session.UpdateCustom(func(custom json.RawMessage) (json.RawMessage, error) {
			if len(custom) > 0 {
				if err := json.Unmarshal(custom, &state); err != nil {
					return nil, err
				}
			}
			state.Turns++
			state.Secret = "s3cret"
			return json.Marshal(state)
		})
		if err != nil {
			return tools.Result{}, err
		}
		if _, err := call.Session.KeepArtifact(tools.Artifact{Name: "report.txt", MediaType: "text/plain", Data: fmt.Append(nil, state.Turns)}); err != nil {
			return tools.Result{}, err
		}
		if _, err := call.Session.KeepArtifact(tools.Artifact{Data: []byte("nameless")}); err != nil {
			return tools.Result{}, err
		}
		return tools.TextResult(call.Session.SnapshotID()), nil
	})
	exec := &turntest.Answerer{Answer: func(_ context.Context, _ string, n int) turntest.Answer {
		switch {
		case n%2 == 0:
			return turntest.Calls(fmt.Sprint("c", n), "tally", "{}")
		case n%6 == 5:
			return turntest.Answer{Err: &model.Error{Class: model.InvalidRequest, Message: "no"}}
		default:
			return turntest.Answer{Text: "counted"}
		}
	}}
	return turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}).WithTool("tally", tally))
}

// report returns the text of a session's report, and how many artifacts it has.
func report(t *testing.T, s *service.Service, sessionID string) (text, custom string, artifacts int) {
	t.Helper()
	kept, err := s.GetSession(t.Context(), alice, sessionID)
	if err != nil {
		t.Fatal(err)
	}
	tip, err := s.GetSnapshot(t.Context(), alice, kept.Tip)
	if err != nil {
		t.Fatal(err)
	}
	if tip.State.Artifacts[0].Name != "report.txt" {
		t.Fatalf("the artifacts are %+v", tip.State.Artifacts)
	}
	a, err := s.GetArtifact(t.Context(), alice, tip.State.Artifacts[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.GetArtifact(t.Context(), bob, a.ID); err == nil {
		t.Error("bob sees the report")
	}
	return string(a.Data), string(tip.State.Custom), len(tip.State.Artifacts)
}

func TestTheStateOfASessionIsThatOfItsSuccessfulTurns(t *testing.T) {
	s := serve(t, tallying(t))
	id := session(t, s, "clerk")
	for range 4 { // the third fails
		turn := ended(t, s, create(t, s, says(id, "x")).ID)
		if _, text := callOutcome(t, log(t, s, turn.ID), firstCall(t, s, turn.ID)); text != turn.SnapshotID {
			t.Errorf("the tool was told snapshot %s, not %s", text, turn.SnapshotID)
		}
	}
	if text, custom, n := report(t, s, id); text != "3" || custom != `{"turns":3,"secret":"s3cret"}` || n != 4 {
		t.Errorf("the report says %s, the state is %s, there are %d artifacts", text, custom, n)
	}
	fork, err := s.ForkSession(t.Context(), alice, service.ForkSession{SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	export, err := s.ExportSession(t.Context(), alice, id)
	if err != nil {
		t.Fatal(err)
	}
	moved, err := s.ImportSession(t.Context(), alice, service.CreateSession{}, export)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSession(t.Context(), alice, id); err != nil {
		t.Fatal(err)
	}
	for _, copied := range []string{fork.ID, moved.ID} {
		if text, custom, n := report(t, s, copied); text != "3" || !strings.Contains(custom, `"turns":3`) || n != 4 {
			t.Errorf("the report says %s, the state is %s, there are %d artifacts", text, custom, n)
		}
	}
}

// firstCall returns the id of the first call of a turn.
func firstCall(t *testing.T, s *service.Service, turnID string) string {
	t.Helper()
	for _, r := range log(t, s, turnID) {
		var done event.ToolCallDone
		if r.Type == event.TypeToolCallDone && json.Unmarshal(r.Data, &done) == nil {
			return done.ID
		}
	}
	t.Fatal("there was no call")
	return ""
}

func TestAStateTransformHoldsForPatchesToo(t *testing.T) {
	mode := "mask"
	s := serve(t, tallying(t), func(v *service.Settings) {
		v.StateTransform = func(_ context.Context, state *service.SessionState) (*service.SessionState, error) {
			switch mode {
			case "nil":
				return nil, nil
			case "error":
				return nil, errors.New("not for you")
			}
			state.Custom = json.RawMessage(strings.ReplaceAll(string(state.Custom), "s3cret", "***"))
			return state, nil
		}
	})
	for _, c := range []struct {
		mode    string
		patches int
	}{{"mask", 1}, {"nil", 0}} {
		mode = c.mode
		turn := ended(t, s, create(t, s, says(session(t, s, "clerk"), "x")).ID)
		records := log(t, s, turn.ID)
		if n := count(typesOf(records), event.TypeCustomPatch); n != c.patches {
			t.Errorf("%s: there are %d patches", c.mode, n)
		}
		for i := range records {
			if strings.Contains(string(records[i].Data), "s3cret") {
				t.Errorf("%s: event %s says %s", c.mode, records[i].Type, records[i].Data)
			}
		}
	}
}
