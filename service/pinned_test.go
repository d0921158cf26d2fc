package service_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// prompted returns a runtime whose agent clerk makes a call that waits for a person,
// and the model, which remembers the prompts.
func prompted(t *testing.T, prompt string) (*runtime.AgentRuntime, *turntest.Answerer) {
	t.Helper()
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("a", "risky", "{}"), {Text: "all done"}}})
	return turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk", SystemPrompt: spec.Prompt(prompt), PluginIDs: []string{"cautious"}}).
		WithTool("risky", turntest.Risky).WithPlugin("cautious", turntest.Cautious)), exec
}

// publish edits the current revision of a runtime.
func publish(t *testing.T, rt *runtime.AgentRuntime, edit func(*registry.Draft) error) {
	t.Helper()
	if _, err := rt.Publish(t.Context(), edit); err != nil {
		t.Fatal(err)
	}
}

// promptedBy puts another prompt in the place of the clerk's.
func promptedBy(prompt string) func(*registry.Draft) error {
	return func(draft *registry.Draft) error {
		clerk, _ := draft.Agents.Get("clerk")
		changed := clerk.Clone()
		changed.SystemPrompt = spec.Prompt(prompt)
		draft.Agents.Put("clerk", changed)
		return nil
	}
}

// withoutClerk removes the agent.
func withoutClerk(draft *registry.Draft) error {
	draft.Agents.Remove("clerk")
	draft.Agents.Put("other", &spec.Agent{ID: "other", ModelID: "clerk"})
	return nil
}

// waiting makes a turn of the clerk that waits for a person.
func waiting(t *testing.T, s *service.Service) string {
	t.Helper()
	made := create(t, s, says(session(t, s, "clerk"), "go"))
	until(t, s, made.ID, store.Waiting)
	return made.ID
}

// approve answers what a turn waits for, and returns the turn as it ends.
func approve(t *testing.T, s *service.Service, id string) *service.Turn {
	t.Helper()
	if _, err := s.AnswerInteraction(t.Context(), alice, id, turntest.Yes("may_a")); err != nil {
		t.Fatal(err)
	}
	return ended(t, s, id)
}

// promptsOf returns the system prompts of the requests to the clerk's model.
func promptsOf(exec *turntest.Answerer) string {
	var list []string
	for _, req := range exec.Requests["clerk"] {
		text := ""
		for _, m := range req.Messages {
			if m.Role == model.RoleSystem {
				text += m.Text()
			}
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// changes returns the changes of revision in the log of a turn.
func changes(t *testing.T, s *service.Service, id string) (list []event.RevisionChanged) {
	t.Helper()
	for _, ev := range log(t, s, id) {
		if ev.Type != event.TypeRevisionChanged {
			continue
		}
		var c event.RevisionChanged
		if err := json.Unmarshal(ev.Data, &c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

func TestAnApprovedTurnGoesOnInTheRevisionItBeganIn(t *testing.T) {
	for name, edit := range map[string]func(*registry.Draft) error{"another prompt": promptedBy("new"), "no agent": withoutClerk} {
		t.Run(name, func(t *testing.T) {
			rt, exec := prompted(t, "old")
			s := serve(t, rt)
			began := rt.Revision()
			id := waiting(t, s)
			publish(t, rt, edit)
			turn := approve(t, s, id)
			if turn.Status != store.Succeeded || turn.Outcome.Revision != began.Number() || turn.Revision != began.Hash() {
				t.Errorf("the turn is %s in revision %q: %+v", turn.Status, turn.Revision, turn.Outcome)
			}
			if got := promptsOf(exec); got != "old, old" {
				t.Errorf("the prompts are %s", got)
			}
			if list := changes(t, s, id); list != nil {
				t.Errorf("the log has %+v", list)
			}
		})
	}
}

func TestATurnMayGoOnInTheLatestRevision(t *testing.T) {
	rt, exec := prompted(t, "old")
	s := serve(t, rt, func(v *service.Settings) { v.Revision = service.RevisionLatest })
	from := rt.Revision().Hash()
	id := waiting(t, s)
	publish(t, rt, promptedBy("new"))
	if turn := approve(t, s, id); turn.Status != store.Succeeded || turn.Outcome.Revision != rt.Revision().Number() {
		t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
	}
	if got := promptsOf(exec); got != "old, new" {
		t.Errorf("the prompts are %s", got)
	}
	if list := changes(t, s, id); len(list) != 1 || list[0] != (event.RevisionChanged{From: from, To: rt.Revision().Hash()}) {
		t.Errorf("the log has %+v", list)
	}
}

// shelf has revisions that a process lost.
type shelf struct {
	revisions map[string]*registry.Revision
	err       error
}

func (s shelf) Record(context.Context, *registry.Revision) error { return nil }

func (s shelf) Acquire(_ context.Context, hash, _ string) (*registry.Revision, error) {
	if rev, ok := s.revisions[hash]; ok && rev.Retain() {
		return rev, nil
	}
	return nil, s.err
}

func TestAnotherProcessGoesOnWithAPinnedTurn(t *testing.T) {
	for name, c := range map[string]struct {
		found  bool
		gone   service.GonePolicy
		status store.Status
		prompt string
	}{
		"found":                   {found: true, status: store.Succeeded, prompt: "old"},
		"gone":                    {status: store.Failed},
		"gone, goes on in latest": {gone: service.GoneLatest, status: store.Succeeded, prompt: "new"},
		"gone, fails":             {gone: service.GoneFails, status: store.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			kept := newMemory(t)
			first, exec := prompted(t, "old")
			began := first.Revision()
			victim := serve(t, first, on(kept))
			id := waiting(t, victim)
			victim.Close()
			second := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk", SystemPrompt: "new", PluginIDs: []string{"cautious"}}).
				WithTool("risky", turntest.Risky).WithPlugin("cautious", turntest.Cautious))
			s := serve(t, second, on(kept), func(v *service.Settings) {
				v.OnRevisionGone = c.gone
				v.Revisions = shelf{err: service.ErrRevisionGone}
				if c.found {
					v.Revisions = shelf{revisions: map[string]*registry.Revision{began.Hash(): began}}
				}
			})
			turn := approve(t, s, id)
			if turn.Status != c.status {
				t.Fatalf("the turn is %s: %+v", turn.Status, turn.Outcome)
			}
			if c.status == store.Failed {
				out := turn.Outcome
				if out.Termination.Code != service.CodeRevisionGone || !strings.Contains(out.Termination.Detail, began.Hash()[:12]) {
					t.Errorf("it ended with %+v", out.Termination)
				}
				if out.Steps != 1 || turn.Steps != 1 || out.Usage.Total() != 11 || out.Revision != began.Number() || out.Agent != "clerk" {
					t.Errorf("what it came to is %+v", out)
				}
				return
			}
			if got := promptsOf(exec); got != "old, "+c.prompt {
				t.Errorf("the prompts are %s", got)
			}
			if list := changes(t, s, id); (len(list) == 1) != (c.prompt == "new") {
				t.Errorf("the log has %+v", list)
			}
		})
	}
}

func TestARevisionIsReleasedWhenNoTurnWaitsInIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &device{}
		exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("a", "risky", "{}"), {Text: "all done"}}})
		with := func() *spec.Agent { return &spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}} }
		rt := turntest.Build(t, turntest.WithAgents(exec, *with()).WithTool("risky", turntest.Risky).WithTool("device", d).WithPlugin("cautious", turntest.Cautious))
		s := serve(t, rt)
		id := waiting(t, s)
		next := turntest.WithAgents(exec, *with()).WithTool("risky", turntest.Risky).WithPlugin("cautious", turntest.Cautious)
		if _, err := next.Publish(t.Context(), rt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if d.closed.Load() {
			t.Error("a tool of the revision is closed while a turn waits in it")
		}
		if turn := approve(t, s, id); turn.Status != store.Succeeded {
			t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !d.closed.Load() {
			t.Error("the tool stays open")
		}
	})
}
