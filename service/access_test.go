package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	"pgregory.net/rapid"
)

// belongings are the ids of a session of alice and the agent "clerk", and of what
// belongs to it.
type belongings struct{ session, turn, interaction, snapshot, artifact, webhook string }

// access is what one method of the service says to a caller about belongings: an
// error, or for a list how many it returns.
type access struct {
	// count is set for lists, which leave out what the caller does not see.
	count func(ctx context.Context, s *service.Service, c service.Caller, b belongings) (int, error)
	// do is set for the other methods.
	do func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error
	// makes is set for methods that name an agent and nothing that belongs to
	// anybody.
	makes func(ctx context.Context, s *service.Service, c service.Caller) error
}

// accesses has each method of the service that takes a caller. Those that change
// most come last.
var accesses = []struct {
	method string
	access
}{
	{"GetSession", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.GetSession(ctx, c, b.session)
		return err
	}}},
	{"ChangeSessionMetadata", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		return s.ChangeSessionMetadata(ctx, c, b.session, func(m json.RawMessage) (json.RawMessage, error) { return m, nil })
	}}},
	{"UpdateSession", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.UpdateSession(ctx, c, b.session, store.SessionPatch{Labels: &map[string]string{}})
		return err
	}}},
	{"ForkSession", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.ForkSession(ctx, c, service.ForkSession{SessionID: b.session})
		return err
	}}},
	{"ExportSession", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.ExportSession(ctx, c, b.session)
		return err
	}}},
	{"ListSnapshots", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.ListSnapshots(ctx, c, store.SnapshotQuery{SessionID: b.session})
		return err
	}}},
	{"GetSnapshot", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.GetSnapshot(ctx, c, b.snapshot)
		return err
	}}},
	{"GetArtifact", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.GetArtifact(ctx, c, b.artifact)
		return err
	}}},
	{"ListArtifacts", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.ListArtifacts(ctx, c, b.turn)
		return err
	}}},
	{"TurnInput", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.TurnInput(ctx, c, b.turn)
		return err
	}}},
	{"TurnVariables", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.TurnVariables(ctx, c, b.turn)
		return err
	}}},
	{"GetTurn", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.GetTurn(ctx, c, b.turn)
		return err
	}}},
	{"Events", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		for _, err := range s.Events(ctx, c, b.turn, 0) {
			return err
		}
		return errors.New("there are no events")
	}}},
	{"ReadEvents", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.ReadEvents(ctx, c, b.turn, 0, 1)
		return err
	}}},
	{"ListInteractions", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.ListInteractions(ctx, c, store.InteractionQuery{TurnID: b.turn})
		return err
	}, count: func(ctx context.Context, s *service.Service, c service.Caller, _ belongings) (int, error) {
		list, err := s.ListInteractions(ctx, c, store.InteractionQuery{})
		return len(list), err
	}}},
	{"SaveWebhook", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.SaveWebhook(ctx, c, service.SaveWebhook{TurnID: b.turn, ID: b.webhook, Surface: "none"})
		return err
	}}},
	{"GetWebhook", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.GetWebhook(ctx, c, b.turn, b.webhook)
		return err
	}}},
	{"ListWebhooks", access{count: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) (int, error) {
		page, err := s.ListWebhooks(ctx, c, store.WebhookQuery{TurnID: b.turn})
		return len(page.Webhooks), err
	}}},
	{"ListSessions", access{count: func(ctx context.Context, s *service.Service, c service.Caller, _ belongings) (int, error) {
		page, err := s.ListSessions(ctx, c, store.SessionQuery{AgentID: "clerk"})
		return len(page.Sessions), err
	}}},
	{"ListTurns", access{count: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) (int, error) {
		page, err := s.ListTurns(ctx, c, store.TurnQuery{SessionID: b.session, Count: true})
		if err != nil {
			return 0, err
		}
		named, err := s.ListTurns(ctx, c, store.TurnQuery{AgentID: "clerk", Count: true})
		if err != nil {
			return 0, err
		}
		return len(page.Turns) + len(named.Turns) + named.Total, nil
	}}},
	{"FindTurns", access{count: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) (int, error) {
		page, err := s.FindTurns(ctx, c, store.TurnQuery{SessionID: b.session}, func(*service.Turn) (bool, error) { return true, nil })
		if err != nil {
			return 0, err
		}
		return len(page.Turns), nil
	}}},
	{"CreateSession", access{makes: func(ctx context.Context, s *service.Service, c service.Caller) error {
		_, err := s.CreateSession(ctx, c, service.CreateSession{AgentID: "clerk"})
		return err
	}}},
	{"ImportSession", access{makes: func(ctx context.Context, s *service.Service, c service.Caller) error {
		_, err := s.ImportSession(ctx, c, service.CreateSession{}, &service.SessionExport{Version: service.ExportVersion, Session: service.ExportedSession{AgentID: "clerk"}})
		return err
	}}},
	{"HostedCapabilities", access{makes: func(ctx context.Context, s *service.Service, c service.Caller) error {
		_, err := s.HostedCapabilities(ctx, c, "clerk")
		if errors.Is(err, service.ErrNotHosted) {
			return nil
		}
		return err
	}}},
	{"CreateTurn", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.CreateTurn(ctx, c, says(b.session, "more"))
		return err
	}, makes: func(ctx context.Context, s *service.Service, c service.Caller) error {
		in, err := s.CreateSession(ctx, c, service.CreateSession{})
		if err != nil {
			return err
		}
		req := says(in.ID, "go")
		req.AgentID = "clerk"
		_, err = s.CreateTurn(ctx, c, req)
		return err
	}}},
	{"RunTurn", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		req := says(b.session, "more")
		req.OnBusy = service.RejectBusy
		_, err := s.RunTurn(ctx, c, req, nil)
		if busy := new(store.BusyError); errors.As(err, &busy) && busy.SessionID == b.session {
			return nil
		}
		return err
	}}},
	{"DetachTurn", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.DetachTurn(ctx, c, b.turn)
		return err
	}}},
	{"DeleteWebhook", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		return s.DeleteWebhook(ctx, c, b.turn, b.webhook)
	}}},
	{"AnswerInteraction", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.AnswerInteraction(ctx, c, b.turn, turntest.Yes(b.interaction))
		return err
	}}},
	{"TurnMessages", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.TurnMessages(ctx, c, b.turn)
		return err
	}}},
	{"GetSnapshotHead", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.GetSnapshotHead(ctx, c, b.snapshot)
		return err
	}}},
	{"CancelTurn", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.CancelTurn(ctx, c, b.turn, "")
		return err
	}}},
	{"WaitTurn", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.WaitTurn(ctx, c, b.turn)
		return err
	}}},
	{"SaveFeedback", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		return rateTurn(ctx, s, c, b.turn)
	}}},
	{"ListFeedback", access{count: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) (int, error) {
		_ = rateTurn(ctx, s, c, b.turn) // strangers cannot
		page, err := s.ListFeedback(ctx, c, store.FeedbackQuery{TurnID: b.turn})
		return len(page.Feedback), err
	}}},
	{"ListModelRequests", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		_, err := s.ListModelRequests(ctx, c, b.turn, "m")
		return err
	}}},
	{"DeleteSession", access{do: func(ctx context.Context, s *service.Service, c service.Caller, b belongings) error {
		return s.DeleteSession(ctx, c, b.session)
	}}},
}

// follows are not in accesses: they go on from a turn that GetTurn returned to the
// caller. Catalog and Summaries are about what is declared, ReadUsage and ReadQueue about
// tenants: they have tests of their own.
var follows = []string{"Follow", "Follower", "Catalog", "Summaries", "ReadUsage", "ReadQueue"}

func TestEveryMethodWithACallerIsHeldToWhatThatSees(t *testing.T) {
	known := slices.Clone(follows)
	for _, a := range accesses {
		known = append(known, a.method)
	}
	service, caller := reflect.TypeFor[*service.Service](), reflect.TypeFor[service.Caller]()
	for i := range service.NumMethod() {
		m := service.Method(i)
		for in := range m.Type.NumIn() {
			if m.Type.In(in) == caller && !slices.Contains(known, m.Name) {
				t.Errorf("%s takes a caller and is not among accesses", m.Name)
			}
		}
	}
}

// possess makes a session of alice and "clerk" that has one of everything.
func possess(t *testing.T, s *service.Service) belongings {
	t.Helper()
	export := &service.SessionExport{
		Version: service.ExportVersion, Session: service.ExportedSession{AgentID: "clerk"},
		Snapshots: []service.ExportedState{{ID: "one", Artifacts: []byte(`[{"id":"a","name":"note"}]`)}},
		Artifacts: []tools.Artifact{{ID: "a", Name: "note", Data: []byte("x")}},
	}
	in, err := s.ImportSession(t.Context(), alice, service.CreateSession{}, export)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.GetSnapshot(t.Context(), alice, in.Tip)
	if err != nil || len(snapshot.State.Artifacts) != 1 {
		t.Fatalf("the snapshot is %+v, %v", snapshot, err)
	}
	turn := until(t, s, create(t, s, says(in.ID, "x")).ID, store.Waiting)
	return belongings{session: in.ID, turn: turn.ID, interaction: "a", snapshot: in.Tip, artifact: snapshot.State.Artifacts[0].ID, webhook: "w"}
}

// mayUse returns alice with a key for some agents.
func mayUse(globs ...string) service.Caller {
	limited := alice
	limited.Agents = service.NewAgentSet(globs)
	return limited
}

func TestAForeignIDLooksUnknown(t *testing.T) {
	s := serve(t, turntest.Asking(t))
	b := possess(t, s)
	if _, err := s.SaveWebhook(t.Context(), alice, service.SaveWebhook{TurnID: b.turn, ID: b.webhook, Surface: "none"}); err != nil {
		t.Fatal(err)
	}
	for who, c := range map[string]service.Caller{"another subject": bob, "a key for another agent": mayUse("parrot", "cler?k"), "a key for no agent": mayUse([]string{}...)} {
		for _, a := range accesses {
			if a.do != nil {
				if err := a.do(t.Context(), s, c, b); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%s: %s returns %v", who, a.method, err)
				}
			}
			if a.count != nil {
				if n, err := a.count(t.Context(), s, c, b); n != 0 || err != nil {
					t.Errorf("%s: %s returns %d, %v", who, a.method, n, err)
				}
			}
			if missing := new(resolve.AgentNotFoundError); a.makes != nil && c.Agents != nil {
				if err := a.makes(t.Context(), s, c); !errors.As(err, &missing) || missing.Nearest != "" {
					t.Errorf("%s: %s returns %v", who, a.method, err)
				}
			}
		}
	}
	if _, err := s.GetSession(t.Context(), service.Caller{}, b.session); !errors.Is(err, service.ErrNoCaller) {
		t.Errorf("without a caller the error is %v", err)
	}
	until(t, s, b.turn, store.Waiting)
}

func TestACallerThatMayUseTheAgentSeesWhatItMade(t *testing.T) {
	for who, c := range map[string]service.Caller{"all agents": alice, "the agent": mayUse("cl*")} {
		s := serve(t, turntest.Asking(t))
		b := possess(t, s)
		for _, a := range accesses {
			if a.do != nil {
				if err := a.do(t.Context(), s, c, b); err != nil {
					t.Errorf("%s: %s returns %v", who, a.method, err)
				}
			}
			if a.count != nil {
				if n, err := a.count(t.Context(), s, c, b); n == 0 || err != nil {
					t.Errorf("%s: %s returns %d, %v", who, a.method, n, err)
				}
			}
			if a.makes != nil {
				if err := a.makes(t.Context(), s, c); err != nil {
					t.Errorf("%s: %s returns %v", who, a.method, err)
				}
			}
		}
	}
}

// TestPropertyASessionIsSeenWithAllItsAgents makes sessions with turns of several
// agents: a caller sees the turns of its agents, and a session only when it may use
// every agent that it has or had.
func TestPropertyASessionIsSeenWithAllItsAgents(t *testing.T) {
	agents := []string{"one", "two", "three", spec.EphemeralAgent}
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "one"}, spec.Agent{ID: "two"}, spec.Agent{ID: "three"}))
	rapid.Check(t, func(r *rapid.T) {
		s := idle(t, rt)
		named := rapid.SampledFrom([]string{"", "one", "two"}).Draw(r, "the session's agent")
		in := session(t, s, named)
		allowed := rapid.SliceOfDistinct(rapid.SampledFrom(agents[:3]), rapid.ID).Draw(r, "allowed")
		caller := mayUse(append([]string{}, allowed...)...)
		seen := func(agent string) bool {
			return agent == "" || agent == spec.EphemeralAgent || slices.Contains(allowed, agent)
		}
		whole, visible := seen(named), 0
		for _, agent := range rapid.SliceOfN(rapid.SampledFrom(agents), 0, 5).Draw(r, "turns") {
			req := says(in, "x")
			if req.AgentID = agent; agent == spec.EphemeralAgent {
				req.Ephemeral = &service.Ephemeral{Agent: spec.Agent{ID: agent, ModelID: "one"}}
			}
			made := create(t, s, req)
			if _, err := s.GetTurn(t.Context(), caller, made.ID); (err == nil) != seen(agent) {
				r.Fatalf("a turn of %s: %v", agent, err)
			}
			whole = whole && seen(agent)
			if seen(agent) {
				visible++
			}
		}
		if _, err := s.GetSession(t.Context(), caller, in); (err == nil) != whole || err != nil && !errors.Is(err, store.ErrNotFound) {
			r.Fatalf("the session: %v", err)
		}
		if page, err := s.ListSessions(t.Context(), caller, store.SessionQuery{}); err != nil || (len(page.Sessions) == 1) != whole {
			r.Fatalf("the sessions: %v %v", page.Sessions, err)
		}
		if page, err := s.ListTurns(t.Context(), caller, store.TurnQuery{}); err != nil || len(page.Turns) != visible {
			r.Fatalf("the turns: %v %v", page.Turns, err)
		}
		if _, err := s.CreateTurn(t.Context(), caller, service.CreateTurn{SessionID: in, AgentID: "one", Input: says("", "x").Input}); (err == nil) != (whole && seen("one")) {
			r.Fatalf("a turn more: %v", err)
		}
	})
}

// rateTurn ends a turn and gives feedback about it.
func rateTurn(ctx context.Context, s *service.Service, c service.Caller, turn string) error {
	if _, err := s.CancelTurn(ctx, c, turn, ""); err != nil {
		return err
	}
	_, err := s.SaveFeedback(ctx, c, service.SaveFeedback{TurnID: turn, Label: "good"})
	return err
}
