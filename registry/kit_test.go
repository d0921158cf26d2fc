package registry_test

import (
	"context"
	"iter"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// executor is a model that answers nothing.
type executor struct{ secret string }

func (executor) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(func(model.Event, error) bool) {}
}

// tool is a tool with a description.
type tool string

func (t tool) Descriptor() tools.Descriptor { return tools.Descriptor{Description: string(t)} }

func (tool) Call(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, nil }

// plugin is a plugin that claims a section.
type plugin string

func (p plugin) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{Sections: []plugins.Section{{Key: string(p), Schema: []byte(`true`)}}}
}

func (plugin) Register(*plugins.Registrar) error { return nil }

// approve is a dry run that finds nothing.
func approve(context.Context, *registry.Revision) (diag.List, error) { return nil, nil }

// full fills a draft with one entry of every kind.
func full(d *registry.Draft) error {
	d.Agents.Put("a", &spec.Agent{ID: "a", ModelID: "m"})
	d.Models.Put("m", &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up"})
	d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}}})
	d.Providers.Put("p", executor{secret: "sk-secret"})
	d.Tools.Put("wc", tool("counts"))
	d.Plugins.Put("guard", plugin("guard"))
	d.Sources.Put("cloud", &registry.Source{Spec: spec.RemoteSource{
		Name: "cloud", BaseURL: "https://cloud.example", Auth: &spec.Auth{Type: "bearer", Token: "t-secret"},
	}})
	d.Defaults = &spec.Defaults{Agent: spec.Agent{SystemPrompt: "Be brief."}}
	d.Available["guard"] = true
	return nil
}

// published returns the first revision of a store.
func published(t *testing.T, edits ...func(*registry.Draft) error) *registry.Revision {
	t.Helper()
	rev, err := registry.NewStore(approve).Publish(t.Context(), func(d *registry.Draft) error {
		for _, edit := range edits {
			if err := edit(d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rev
}
