package a2a_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/a2asdk"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// These tests reach an agent that runs on the official Python SDK.

// forEachPythonPeer runs a test with an agent over each transport.
func forEachPythonPeer(t *testing.T, test func(t *testing.T, p peer)) {
	t.Helper()
	a2asdk.ForEachPython(t, func(t *testing.T, transport string) {
		s := a2asdk.NewServer(t, a2asdk.Python, a2asdk.ServerOptions{Streaming: true, Token: token})
		name := map[string]string{a2asdk.JSONRPC: "jsonrpc", a2asdk.REST: "rest", a2asdk.GRPC: "grpc"}[transport]
		test(t, peer{s, a2asdk.Python, transport, spec.Endpoint{
			BaseURL: s.URL, Auth: &spec.Auth{Type: spec.AuthBearer, Token: token},
			Options: map[string]json.RawMessage{
				"transports":    json.RawMessage(`["` + name + `"]`),
				"allow_origins": json.RawMessage(`["http://` + s.GRPC + `"]`),
				"poll_interval": json.RawMessage(`"100ms"`),
			},
		}})
	})
}

func TestAPythonAgentAnswers(t *testing.T) {
	t.Parallel()
	forEachPythonPeer(t, func(t *testing.T, p peer) {
		rt := p.runtime(t)
		for text, want := range map[string]struct{ response, code string }{
			"echo hello":     {"hello", ""},
			"stream 5":       {"0;1;2;3;4;", ""},
			"message hi":     {"hi", ""},
			"fail so badly":  {"so badly", client.CodeRemoteFailed},
			"reject for you": {"for you", client.CodeRemoteRejected},
		} {
			got, err := rt.Run(t.Context(), runtime.Prompt("remote", text), nil)
			switch {
			case want.code == "" && (err != nil || got.Response != want.response || got.Status != event.StatusSucceeded):
				t.Errorf("%q is answered with %q, %v", text, got.Response, err)
			case want.code != "" && (err == nil || got.Termination.Code != want.code || !strings.Contains(got.Termination.Detail, want.response)):
				t.Errorf("%q ends with %+v, %v", text, got.Termination, err)
			}
		}
		p.endpoint.Auth = &spec.Auth{Type: spec.AuthBearer, Token: "another"}
		if got, err := p.ask(t.Context(), t, "echo hello"); err == nil || got.Termination.Code != "unauthorized" {
			t.Errorf("with another token the turn ended with %+v, %v", got.Termination, err)
		}
	})
}

func TestThePartsOfAPythonAgentAreKept(t *testing.T) {
	t.Parallel()
	forEachPythonPeer(t, func(t *testing.T, p peer) {
		s := p.serve(t, keep(t))
		turn := says(t, s, "parts")
		got := ended(t, s, turn.ID)
		for _, want := range []string{"a text", `{"rows":[1,2]}`, "https://files.example/report.pdf", "p.png"} {
			if !strings.Contains(got.Response, want) {
				t.Errorf("the answer has no %s: %s", want, got.Response)
			}
		}
		var kept []byte
		for r, err := range s.Events(t.Context(), alice, turn.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Type != event.TypeArtifact {
				continue
			}
			ev, err := r.Event()
			if err != nil {
				t.Fatal(err)
			}
			artifact, err := s.GetArtifact(t.Context(), alice, ev.Data.(*event.Artifact).ID)
			if err != nil {
				t.Fatal(err)
			}
			kept = artifact.Data
		}
		if string(kept) != "bytes" {
			t.Errorf("the picture is %q", kept)
		}
	})
}

func TestAQuestionOfAPythonAgentIsAnswered(t *testing.T) {
	t.Parallel()
	forEachPythonPeer(t, func(t *testing.T, p peer) {
		s := p.serve(t, keep(t))
		for text, c := range map[string]struct{ answer, response string }{
			"ask who?":       {`"me"`, "you said me"},
			"authorize who?": {`{"authenticated":true,"text":"done"}`, "authorized"},
		} {
			turn := says(t, s, text)
			until(t, s, turn.ID, store.Waiting)
			answers(t, s, turn.ID, "who?", c.answer)
			if got := ended(t, s, turn.ID); got.Response != c.response || got.Termination.Type != event.NaturalEnd {
				t.Errorf("%q ended with %+v: %q", text, got.Termination, got.Response)
			}
		}
		if n := len(p.Happened("started")); n != 2 {
			t.Errorf("%d tasks were started", n)
		}
	})
}

func TestACancelReachesThePythonAgent(t *testing.T) {
	t.Parallel()
	forEachPythonPeer(t, func(t *testing.T, p peer) {
		s := p.serve(t, keep(t))
		turn := says(t, s, "hold 1")
		task := p.Await("holding", nil).TaskID
		if _, err := s.CancelTurn(t.Context(), alice, turn.ID, "changed my mind"); err != nil {
			t.Fatal(err)
		}
		if got := ended(t, s, turn.ID); got.Termination.Type != event.Canceled {
			t.Errorf("the turn ended with %+v", got.Termination)
		}
		p.AwaitTask("canceled", task)
	})
}
