package registry_test

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// Models and pools share their ids. The second one is told, but stays, so that
// what refers to the id is found ambiguous and not missing.
func TestModelsAndPoolsShareTheirIDs(t *testing.T) {
	t.Parallel()
	m, pool := &spec.Model{ID: "x"}, &spec.Pool{ID: "x"}
	for name, tt := range map[string]struct {
		first, second func(*registry.Set) error
		kind, other   string
	}{
		"model after pool": {func(s *registry.Set) error { return s.AddPool(pool) }, func(s *registry.Set) error { return s.AddModel(m) }, "model", "model pool"},
		"pool after model": {func(s *registry.Set) error { return s.AddModel(m) }, func(s *registry.Set) error { return s.AddPool(pool) }, "model pool", "model"},
	} {
		s := registry.NewSet()
		if err := tt.first(s); err != nil {
			t.Fatal(err)
		}
		var taken *registry.DuplicateError
		if err := tt.second(s); !errors.As(err, &taken) || taken.Kind != tt.kind || taken.Other != tt.other {
			t.Errorf("%s: %v", name, err)
		}
		if s.Models.Len() != 1 || s.Pools.Len() != 1 {
			t.Errorf("%s: %d models and %d pools", name, s.Models.Len(), s.Pools.Len())
		}
		if err := tt.second(s); !errors.As(err, &taken) || taken.Other != "" {
			t.Errorf("%s, again: %v", name, err)
		}
	}
}

func TestAgentsAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	s := registry.NewSet()
	s.Agents.Put("x", &spec.Agent{ID: "x"})
	s.Agents.Put("mine", &spec.Agent{ID: "mine"})
	for _, name := range []string{"cloud", "edge"} {
		err := s.AddSource(&registry.Source{Spec: spec.RemoteSource{Name: name}, Discovered: true, Agents: []*spec.Agent{
			{ID: name + "/x"}, {ID: name + "/only-" + name}, {ID: name + "/both"},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AddSource(&registry.Source{Spec: spec.RemoteSource{Name: "later"}, Position: 2}); err != nil {
		t.Fatal(err)
	}
	want := []string{"x", "mine", "cloud/x", "cloud/only-cloud", "cloud/both", "edge/x", "edge/only-edge", "edge/both"}
	if diff := cmp.Diff(want, s.AgentIDs()); diff != "" {
		t.Errorf("AgentIDs (-want +got):\n%s", diff)
	}
	for asked, want := range map[string]string{
		"x": "x", "local/x": "x", "cloud/x": "cloud/x", "edge/x": "edge/x", "only-edge": "edge/only-edge", "both": "cloud/both",
		"local/both": "", "cloud/mine": "", "cloud/only-edge": "", "later/x": "", "/x": "", "/both": "", "": "", "cloud/": "", "nowhere/x": "",
	} {
		got, ok := s.Agent(asked)
		if ok != (want != "") || ok && got.ID != want {
			t.Errorf("Agent(%q) = %v, %v; want %q", asked, got, ok, want)
		}
	}
	for asked, want := range map[string]bool{"later/x": true, "later/": false, "later": false, "cloud/new": false, "nowhere/x": false} {
		if got := s.Undiscovered(asked); got != want {
			t.Errorf("Undiscovered(%q) = %v", asked, got)
		}
	}
}

func TestACloneIsIndependent(t *testing.T) {
	t.Parallel()
	s := &registry.Draft{Set: registry.NewSet()}
	if err := full(s); err != nil {
		t.Fatal(err)
	}
	c := s.Clone()
	c.Agents.Remove("a")
	c.Pools.Put("another", &spec.Pool{ID: "another"})
	c.Available["audit"] = true
	if _, ok := s.Agents.Get("a"); !ok || s.Pools.Len() != 1 || len(s.Available) != 1 {
		t.Error("changing the clone changed the original")
	}
}
