package a2a_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	a2abackend "github.com/agentruntime/agentruntime/backend/a2a"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/testkit/a2asdk"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// These tests reach agents that run on the official JavaScript SDKs.

func TestAJavaScriptAgentAnswers(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]a2asdk.ServerOptions{"streaming": {Streaming: true}, "polling": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachPeer(t, o, func(t *testing.T, p peer) {
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
				for _, h := range p.Happened("request") {
					card := strings.HasSuffix(h.Path, "agent-card.json")
					if got := h.Headers["authorization"]; got != "Bearer "+token {
						t.Errorf("%s %s shows %q", h.Method, h.Path, got)
					}
					if want := map[a2asdk.Version]string{a2asdk.V10: "1.0"}[p.version]; !card && want != "" && h.Headers["a2a-version"] != want {
						t.Errorf("%s %s is of version %q", h.Method, h.Path, h.Headers["a2a-version"])
					}
				}
			})
		})
	}
}

func TestTheAnswerOfAJavaScriptAgentIsStreamed(t *testing.T) {
	t.Parallel()
	forEachPeer(t, a2asdk.ServerOptions{Streaming: true}, func(t *testing.T, p peer) {
		var text strings.Builder
		shown := make(chan struct{})
		result := make(chan error, 1)
		go func() {
			_, err := p.runtime(t).Run(t.Context(), runtime.Prompt("remote", "hold 2"), event.SinkFunc(func(ev event.Event) {
				if d, ok := ev.Data.(*event.TextDelta); ok {
					if text.WriteString(d.Delta); text.String() == "0;1;" {
						close(shown)
					}
				}
			}))
			result <- err
		}()
		<-shown // before the task has ended
		p.Release(p.Await("holding", nil).TaskID)
		if err := <-result; err != nil || text.String() != "0;1;" {
			t.Errorf("shown is %q, %v", text.String(), err)
		}
	})
}

func TestThePartsOfAJavaScriptAgentAreKept(t *testing.T) {
	t.Parallel()
	forEachPeer(t, a2asdk.ServerOptions{Streaming: true}, func(t *testing.T, p peer) {
		s := p.serve(t, keep(t))
		turn := says(t, s, "parts")
		got := ended(t, s, turn.ID)
		want := []string{"a text", `{"rows":[1,2]}`, "https://files.example/report.pdf"}
		// In HTTP+JSON of version 0.3 the Go and JavaScript SDKs encode bytes differently, and
		// files have no names.
		files := p.version == a2asdk.V10 || p.transport == a2asdk.JSONRPC
		if files {
			want = append(want, "p.png")
		}
		for _, want := range want {
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
		if files && string(kept) != "bytes" {
			t.Errorf("the picture is %q", kept)
		}
	})
}

func TestAQuestionOfAJavaScriptAgentOutlivesTheService(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, answer, response string }{
		"input":         {"ask who?", `"me"`, "you said me"},
		"authorization": {"authorize who?", `{"authenticated":true,"text":"done"}`, "authorized"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachPeer(t, a2asdk.ServerOptions{Streaming: true}, func(t *testing.T, p peer) {
				kept := keep(t)
				first := p.serve(t, kept)
				turn := says(t, first, c.text)
				until(t, first, turn.ID, store.Waiting)
				first.Close()
				second := p.serve(t, kept)
				answers(t, second, turn.ID, "who?", c.answer)
				if got := ended(t, second, turn.ID); got.Response != c.response || got.Termination.Type != event.NaturalEnd {
					t.Errorf("the turn ended with %+v: %q", got.Termination, got.Response)
				}
				begun := p.Await("started", nil)
				if again := p.AwaitTask("continued", begun.TaskID); again.ContextID != begun.ContextID {
					t.Errorf("the task goes on as %+v", again)
				}
				if started, continued := p.Happened("started"), p.Happened("continued"); len(started) != 1 || len(continued) != 1 {
					t.Errorf("%d tasks were started, and %d continued", len(started), len(continued))
				}
			})
		})
	}
}

func TestAnAuthorizationThatIsGivenElsewhereIsHeardOf(t *testing.T) {
	t.Parallel()
	forEachPeer(t, a2asdk.ServerOptions{Streaming: true}, func(t *testing.T, p peer) {
		s := p.serve(t, keep(t))
		turn := says(t, s, "consent please")
		until(t, s, turn.ID, store.Waiting)
		p.Release(p.Await("holding", nil).TaskID)
		answers(t, s, turn.ID, "please", `{"authenticated":true}`)
		if got := ended(t, s, turn.ID); got.Response != "consented" {
			t.Errorf("the turn ended with %+v: %q", got.Termination, got.Response)
		}
		if n := len(p.Happened("continued")); n != 0 {
			t.Errorf("the agent was sent %d messages", n)
		}
	})
}

func TestATaskOfAJavaScriptAgentOutlivesTheService(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]a2asdk.ServerOptions{"streaming": {Streaming: true}, "polling": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachPeer(t, o, func(t *testing.T, p peer) {
				kept := keep(t)
				first := p.serve(t, kept)
				turn := says(t, first, "hold 2")
				task := p.taskOf(t, first, turn.ID)
				p.AwaitTask("holding", task)
				first.Close()
				before := len(p.Happened("request"))
				second := p.serve(t, kept)
				p.AwaitNumber("request", before+2) // the card, and the task
				p.Release(task)
				if got := ended(t, second, turn.ID); got.Response != "0;1;" || got.Termination.Type != event.NaturalEnd {
					t.Errorf("the turn ended with %+v: %q", got.Termination, got.Response)
				}
				if n, canceled := len(p.Happened("started")), p.Happened("canceled"); n != 1 || len(canceled) != 0 {
					t.Errorf("%d tasks were started, and canceled %+v", n, canceled)
				}
			})
		})
	}
}

func TestTheNextTurnGoesOnInTheContext(t *testing.T) {
	t.Parallel()
	forEachPeer(t, a2asdk.ServerOptions{}, func(t *testing.T, p peer) {
		s := p.serve(t, keep(t))
		first := says(t, s, "echo one")
		ended(t, s, first.ID)
		next, err := s.CreateTurn(t.Context(), alice, service.CreateTurn{SessionID: first.SessionID, Input: []model.Message{model.User("echo two")}})
		if err != nil {
			t.Fatal(err)
		}
		if got := ended(t, s, next.ID); got.Response != "two" {
			t.Errorf("the second answer is %q", got.Response)
		}
		p.AwaitNumber("started", 2)
		if h := p.Happened("started"); len(h) != 2 || h[0].ContextID != h[1].ContextID || h[0].TaskID == h[1].TaskID {
			t.Errorf("the turns were %+v", h)
		}
	})
}

func TestWhatATurnMayUseIsToldToAgentsThatKnowTheExtension(t *testing.T) {
	t.Parallel()
	for name, extensions := range map[string][]string{"known": {a2awire.Extension}, "unknown": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachPeer(t, a2asdk.ServerOptions{Extensions: extensions}, func(t *testing.T, p peer) {
				if _, err := p.ask(t.Context(), t, "echo hello"); err != nil {
					t.Fatal(err)
				}
				told := p.Await("started", nil)
				if grant, err := a2awire.GrantOf(told.Metadata); err != nil || (grant != nil) != (extensions != nil) || grant != nil && (grant.Depth != 1 || grant.Deadline.IsZero()) {
					t.Errorf("the agent gets %+v: %v", grant, err)
				}
				if extensions == nil && len(told.Metadata) > 0 {
					t.Errorf("the message has the metadata %v", told.Metadata)
				}
			})
		})
	}
}

func TestACancelReachesTheJavaScriptAgent(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"hold 1", "stubborn"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			forEachPeer(t, a2asdk.ServerOptions{Streaming: true}, func(t *testing.T, p peer) {
				s := p.serve(t, keep(t))
				turn := says(t, s, script)
				task := p.Await("holding", nil).TaskID
				if _, err := s.CancelTurn(t.Context(), alice, turn.ID, "changed my mind"); err != nil {
					t.Fatal(err)
				}
				if got := ended(t, s, turn.ID); got.Termination.Type != event.Canceled {
					t.Errorf("the turn ended with %+v", got.Termination)
				}
				p.AwaitTask("canceled", task)
				p.Release(task)
				p.AwaitTask("ended", task)
			})
		})
	}
}

func TestATurnOutsideAServiceIsCanceledAtTheAgentToo(t *testing.T) {
	t.Parallel()
	forEachPeer(t, a2asdk.ServerOptions{Streaming: true}, func(t *testing.T, p peer) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		result := make(chan error, 1)
		go func() {
			_, err := p.ask(ctx, t, "hold 1")
			result <- err
		}()
		task := p.Await("holding", nil).TaskID
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("the turn ended with %v", err)
		}
		p.AwaitTask("canceled", task)
	})
}

func TestAPeerThatRefusesTheTokenIsSaidToDoSo(t *testing.T) {
	t.Parallel()
	forEachPeer(t, a2asdk.ServerOptions{}, func(t *testing.T, p peer) {
		p.endpoint.Auth.Token = "another"
		got, err := p.ask(t.Context(), t, "echo hello")
		if err == nil || got.Termination.Code != string(model.Unauthorized) || strings.Contains(err.Error(), "another") {
			t.Errorf("the turn ended with %+v, %v", got.Termination, err)
		}
	})
}

func TestAPeerOfVersion03NeedsPermission(t *testing.T) {
	t.Parallel()
	p := peer{Server: a2asdk.NewServer(t, a2asdk.V03, a2asdk.ServerOptions{})}
	p.endpoint = spec.Endpoint{BaseURL: p.URL}
	got, err := p.ask(t.Context(), t, "echo hello")
	if err == nil || got.Termination.Code != client.CodeCard || !strings.Contains(err.Error(), "allow_v0_3") {
		t.Errorf("the turn ended with %+v, %v", got.Termination, err)
	}
}

// keySet is the JWK set with the key that signs a server's card.
func keySet(s *a2asdk.Server) json.RawMessage {
	return json.RawMessage(`{"keys":[` + string(s.Key) + `]}`)
}

func TestAJavaScriptAgentIsDiscovered(t *testing.T) {
	t.Parallel()
	forEachPeer(t, a2asdk.ServerOptions{Signed: true}, func(t *testing.T, p peer) {
		signed := p.version == a2asdk.V10
		if signed {
			p.endpoint.Options["signatures"] = json.RawMessage(`"required"`)
			p.endpoint.Options["signature_keys"] = keySet(p.Server)
		}
		b := builder.New().WithBackend(a2abackend.NewFactory(a2abackend.Settings{})).
			WithRemoteAgents(spec.RemoteSource{Name: "cloud", BaseURL: p.URL, Auth: p.endpoint.Auth, Options: p.endpoint.Options})
		rt, err := b.BuildAndDiscover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = rt.Close() })
		got, err := rt.Run(t.Context(), runtime.Prompt("cloud/scripted", "echo hello"), nil)
		if err != nil || got.Response != "hello" {
			t.Errorf("the agent says %q, %v", got.Response, err)
		}
		if !signed {
			return
		}
		another := a2asdk.NewServer(t, p.version, a2asdk.ServerOptions{Signed: true})
		p.endpoint.Options["signature_keys"] = keySet(another)
		if got, err := p.ask(t.Context(), t, "echo hello"); err == nil || got.Termination.Code != client.CodeCard {
			t.Errorf("with a card of somebody else the turn ended with %+v, %v", got.Termination, err)
		}
	})
}

func TestACancelThatRacesTheEndOfATaskEndsTheTurn(t *testing.T) {
	t.Parallel()
	forEachPeer(t, a2asdk.ServerOptions{Streaming: true}, func(t *testing.T, p peer) {
		s := p.serve(t, keep(t))
		for range 4 {
			turn := says(t, s, "hold 1")
			seen := p.AwaitTask("holding", p.taskOf(t, s, turn.ID)).TaskID
			var racers sync.WaitGroup
			racers.Go(func() { p.Release(seen) })
			_, err := s.CancelTurn(t.Context(), alice, turn.ID, "changed my mind")
			racers.Wait()
			switch got := ended(t, s, turn.ID); {
			case got.Termination.Type == event.NaturalEnd && got.Response == "0;":
			case got.Termination.Type == event.Canceled && err == nil:
			default:
				t.Errorf("the turn ended with %+v: %q, %v", got.Termination, got.Response, err)
			}
		}
	})
}

func TestADelegateOfAnotherRuntimeAsksThroughItsPrincipal(t *testing.T) {
	t.Parallel()
	forEachPeer(t, a2asdk.ServerOptions{Streaming: true}, func(t *testing.T, p peer) {
		kept := keep(t)
		first := p.boss(t, kept)
		session, err := first.CreateSession(t.Context(), alice, service.CreateSession{AgentID: "boss"})
		if err != nil {
			t.Fatal(err)
		}
		turn, err := first.CreateTurn(t.Context(), alice, service.CreateTurn{SessionID: session.ID, Background: true, Input: []model.Message{model.User("go")}})
		if err != nil {
			t.Fatal(err)
		}
		until(t, first, turn.ID, store.Waiting)
		first.Close()
		second := p.boss(t, kept)
		answers(t, second, turn.ID, "who?", `"me"`)
		if got := ended(t, second, turn.ID); !strings.Contains(got.Response, "you said me") {
			t.Errorf("the turn ended with %+v: %q", got.Termination, got.Response)
		}
		if h := p.Happened("started"); len(h) != 1 {
			t.Errorf("%d tasks were started", len(h))
		}
		if slices.ContainsFunc(p.Happened("request"), func(h a2asdk.Happening) bool { return h.Headers["authorization"] != "Bearer "+token }) {
			t.Error("a request shows another token")
		}
	})
}
