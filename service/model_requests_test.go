package service_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// Each step of a turn and of its delegates has the request that the model got. A caller who may
// not use a delegate sees none of its requests, and nothing is stored unless it is asked for.
func TestRequestsToModelsAreKeptIfAskedFor(t *testing.T) {
	agents := []spec.Agent{
		{ID: "boss", Delegates: []string{"clerk"}, SystemPrompt: "You lead."}, {ID: "clerk", SystemPrompt: "You sort."},
	}
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprint(keep), func(t *testing.T) {
			rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{
				"boss":  {turntest.AsksAgent("clerk"), {Text: "thanks"}},
				"clerk": {{Text: "sorted"}},
			}), agents...))
			s := serve(t, rt, func(v *service.Settings) { v.KeepRequests = keep })
			made := create(t, s, says(session(t, s, "boss"), "go"))
			ended(t, s, made.ID)
			var got []string
			reader := alice
			reader.ExtraScopes = []string{settings.ScopeConfigRead}
			restricted := reader
			restricted.Agents = service.NewAgentSet([]string{"boss"})
			for _, step := range stepsOf(t, s, made.ID) {
				list, err := s.ListModelRequests(t.Context(), reader, made.ID, step.MessageID)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range list {
					var sent struct {
						Messages []struct {
							Role  string
							Parts []struct{ Text string }
						}
					}
					if err := json.Unmarshal(r.Request, &sent); err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprint(r.AgentID, " ", len(sent.Messages), " ", sent.Messages[0].Parts[0].Text))
				}
				if list, err := s.ListModelRequests(t.Context(), alice, made.ID, step.MessageID); err != nil || len(list) > 0 {
					t.Errorf("a caller without config:read sees %d requests, %v", len(list), err)
				}
				visible, err := s.ListModelRequests(t.Context(), restricted, made.ID, step.MessageID)
				if err != nil || slices.ContainsFunc(visible, func(r *store.ModelRequest) bool { return r.AgentID != "boss" }) {
					t.Errorf("a caller with one agent sees %d requests, %v", len(visible), err)
				}
			}
			want := []string{"boss 2 You lead.", "clerk 2 You sort.", "boss 4 You lead."}
			if !keep {
				want = nil
			}
			if !slices.Equal(got, want) {
				t.Errorf("the requests are %q, want %q", got, want)
			}
			if _, err := s.ListModelRequests(t.Context(), service.Caller{Tenant: "acme", Subject: "mallory"}, made.ID, "m"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("a stranger gets %v", err)
			}
		})
	}
}

// stepsOf returns the steps of a turn and its delegates.
func stepsOf(t *testing.T, s *service.Service, turnID string) (steps []*event.StepStart) {
	t.Helper()
	records, err := s.ReadEvents(t.Context(), alice, turnID, 0, 1000, service.WithDelegates)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if records[i].Type != event.TypeStepStart {
			continue
		}
		step := new(event.StepStart)
		if err := json.Unmarshal(records[i].Data, step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	return steps
}
