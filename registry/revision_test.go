package registry_test

import (
	"context"
	"regexp"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// The hash identifies the content: equal content has one hash, whatever its publisher
// and however often it is published; different content, or another order, has another.
func TestTheHashNamesTheContent(t *testing.T) {
	t.Parallel()
	base := published(t, full).Hash()
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(base) {
		t.Errorf("the hash is %q", base)
	}
	same := map[string]func(*registry.Draft) error{
		"nothing": func(*registry.Draft) error { return nil },
		"a secret of a source": func(d *registry.Draft) error {
			d.Sources.Put("cloud", &registry.Source{Spec: spec.RemoteSource{
				Name: "cloud", BaseURL: "https://cloud.example", Auth: &spec.Auth{Type: "bearer", Token: "rotated"},
			}})
			return nil
		},
		"a secret of a provider": func(d *registry.Draft) error { d.Providers.Put("p", executor{secret: "rotated"}); return nil },
	}
	for name, edit := range same {
		if got := published(t, full, edit).Hash(); got != base {
			t.Errorf("%s changes the hash", name)
		}
	}
	other := map[string]func(*registry.Draft) error{
		"a prompt": func(d *registry.Draft) error {
			d.Agents.Put("a", &spec.Agent{ID: "a", ModelID: "m", SystemPrompt: "x"})
			return nil
		},
		"an empty list": func(d *registry.Draft) error {
			d.Agents.Put("a", &spec.Agent{ID: "a", ModelID: "m", AllowedTools: spec.Names{}})
			return nil
		},
		"another agent": func(d *registry.Draft) error { d.Agents.Put("b", &spec.Agent{ID: "b"}); return nil },
		"a model": func(d *registry.Draft) error {
			d.Models.Put("m", &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "x"})
			return nil
		},
		"a pool":         func(d *registry.Draft) error { d.Pools.Remove("pool"); return nil },
		"a provider":     func(d *registry.Draft) error { d.Providers.Put("q", executor{}); return nil },
		"a tool":         func(d *registry.Draft) error { d.Tools.Put("wc", tool("weighs")); return nil },
		"a tool's id":    func(d *registry.Draft) error { d.Tools.Remove("wc"); d.Tools.Put("wd", tool("counts")); return nil },
		"a plugin":       func(d *registry.Draft) error { d.Plugins.Put("guard", plugin("warden")); return nil },
		"a source":       func(d *registry.Draft) error { d.Sources.Remove("cloud"); return nil },
		"the defaults":   func(d *registry.Draft) error { d.Defaults = nil; return nil },
		"a broken tool":  func(d *registry.Draft) error { d.Tools.Put("wc", broken{}); return nil },
		"broken plugins": func(d *registry.Draft) error { d.Plugins.Put("guard", brokenPlugin{}); return nil },
		"the order": func(d *registry.Draft) error {
			a, _ := d.Agents.Get("a")
			d.Agents.Remove("a")
			d.Agents.Put("z", &spec.Agent{ID: "z"})
			d.Agents.Put("a", a)
			return nil
		},
	}
	seen := map[string]string{base: "nothing"}
	for name, edit := range other {
		got := published(t, full, edit).Hash()
		if before, taken := seen[got]; taken {
			t.Errorf("%s and %s have one hash", name, before)
		}
		seen[got] = name
	}
}

// broken is a tool that panics when it is asked what it is.
type broken struct{ tool }

func (broken) Descriptor() tools.Descriptor { panic("broken") }

// brokenPlugin is the like of a plugin.
type brokenPlugin struct{ plugin }

func (brokenPlugin) Descriptor() plugins.Descriptor { panic("broken") }

func TestRevisionsOfOneContentHaveOneHash(t *testing.T) {
	t.Parallel()
	store := registry.NewStore(approve)
	first, err := store.Publish(t.Context(), full)
	if err != nil {
		t.Fatal(err)
	}
	second, err := store.Publish(t.Context(), func(*registry.Draft) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if first.Hash() != second.Hash() || first.Number() == second.Number() {
		t.Errorf("revisions %d and %d have the hashes %s and %s", first.Number(), second.Number(), first.Hash(), second.Hash())
	}
}

// What is derived from a revision is one value for all, however many ask.
func TestDeriveGivesEverybodyTheSame(t *testing.T) {
	t.Parallel()
	rev := published(t, full)
	type key struct{}
	var mu sync.Mutex
	got := map[any]bool{}
	var asking sync.WaitGroup
	for range 16 {
		asking.Go(func() {
			v := rev.Derive(key{}, func() any { return new(int) })
			mu.Lock()
			defer mu.Unlock()
			got[v] = true
		})
	}
	asking.Wait()
	if len(got) != 1 {
		t.Errorf("%d different values", len(got))
	}
	if other := rev.Derive("another key", func() any { return "x" }); other != "x" {
		t.Errorf("another key gives %v", other)
	}
}

// A turn in flight keeps the revision it began with.
func TestARevisionOutlivesItsSuccessor(t *testing.T) {
	t.Parallel()
	store := registry.NewStore(approve)
	old, err := store.Publish(context.Background(), full)
	if err != nil {
		t.Fatal(err)
	}
	hash := old.Hash()
	if _, err := store.Publish(t.Context(), func(d *registry.Draft) error { d.Agents.Remove("a"); d.Pools.Remove("pool"); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, ok := old.Set().Agent("a"); !ok || old.Set().Pools.Len() != 1 || old.Hash() != hash {
		t.Error("the revision that is in use changed")
	}
	if _, ok := store.Current().Set().Agent("a"); ok {
		t.Error("the agent is still in the current revision")
	}
}
