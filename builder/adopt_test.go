package builder_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// declared is a component declared by a configuration.
type declared struct {
	says
	plain

	settings componentSettings
	closed   int
}

func (d *declared) Close() error {
	d.closed++
	return nil
}

type componentSettings struct {
	Answer string `json:"answer,omitempty" doc:"What it says."`
	Secret string `json:"secret,omitempty" secret:"true" doc:"What it does not say."`
}

// MarshalJSON omits the secret.
func (c componentSettings) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"answer": c.Answer})
}

// reloaded is a series of configurations, each of which replaces the previous one.
type reloaded struct {
	runtime *runtime.AgentRuntime
	// made holds all components, used or not.
	made []*declared
}

func (r *reloaded) options() config.Options {
	create := func(c *componentSettings) *declared {
		d := &declared{settings: *c}
		r.made = append(r.made, d)
		return d
	}
	provider := func(_ model.Settings, c *componentSettings) (model.Executor, error) { return create(c), nil }
	tool := func(_ tools.Settings, c *componentSettings) (tools.Tool, error) { return create(c), nil }
	return config.Options{Kinds: config.Kinds{
		Providers: []model.ProviderKind{spec.NewKind("pure", "", provider).AsPure(), spec.NewKind("file", "", provider)},
		Tools:     []tools.Kind{spec.NewKind("pure", "", tool).AsPure(), spec.NewKind("file", "", tool)},
		Sections:  resolve.Sections(),
	}}
}

// newBuilder returns a builder for a document, or nil if the document is invalid.
func (r *reloaded) newBuilder(document []byte) *builder.AgentRuntimeBuilder {
	file, found := config.Parse([]config.Source{{Name: "agents.json", Data: document}}, r.options())
	if found.HasErrors() {
		return nil
	}
	return builder.New().WithConfig(file)
}

// reload does the work of a server that reads its files again.
func (r *reloaded) reload(b *builder.AgentRuntimeBuilder) (found, published []string, err error) {
	current := r.runtime.AcquireRevision()
	defer current.Release()
	proved, list := b.Adopt(current).Check(context.Background())
	found = []string{fmt.Sprint(list)}
	if !list.HasErrors() {
		found = append(found, describe(proved)...)
	}
	rev, err := b.Publish(context.Background(), r.runtime)
	if err != nil {
		return found, nil, b.Close()
	}
	return found, describe(rev), nil
}

// describe lists the observable properties of a revision.
func describe(rev *registry.Revision) []string {
	out := []string{rev.Hash(), rev.Set().Document, rev.Set().DeclaredHash(), fmt.Sprint(rev.Diagnostics())}
	for _, id := range rev.Set().AgentIDs() {
		e, err := resolve.Explain(context.Background(), rev, id)
		data, _ := json.Marshal(e)
		out = append(out, fmt.Sprintf("%s %v: %s", id, err, durations.ReplaceAll(data, nil)))
	}
	for id, p := range rev.Set().Providers.All() {
		out = append(out, fmt.Sprintf("provider %s: %+v", id, p.(*declared).settings))
	}
	for id, t := range rev.Set().Tools.All() {
		out = append(out, fmt.Sprintf("tool %s: %+v", id, t.(*declared).settings))
	}
	return out
}

var durations = regexp.MustCompile(`"duration_ns":[0-9]+`)

// TestPropertyAReloadComesToWhatABuildFromScratchDoes reads random configurations in sequence. Each
// must have the same result as a build from scratch: its diagnostics, its hashes, and each agent's
// plan. Current components stay open; components that are no longer current or were rejected are
// closed once.
func TestPropertyAReloadComesToWhatABuildFromScratchDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e := documentEditor{T: rt, entries: map[string][]entryOf{}}
		e.fill()
		r := new(reloaded)
		b := r.newBuilder(e.document())
		if b == nil {
			rt.Skip("the first one is wrong")
		}
		var err error
		if r.runtime, err = b.Build(); err != nil {
			rt.Skip("the first one is wrong")
		}
		for range rapid.IntRange(1, 6).Draw(rt, "reloads") {
			for range rapid.IntRange(1, 3).Draw(rt, "edits") {
				e.edit()
			}
			if b = r.newBuilder(e.document()); b == nil {
				continue
			}
			found, published, err := r.reload(b)
			if err != nil {
				rt.Fatal(err)
			}
			scratch := &reloaded{runtime: new(reloaded).empty(rt)}
			wantFound, wantPublished, err := scratch.reload(scratch.newBuilder(e.document()))
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff([][]string{wantFound, wantPublished}, [][]string{found, published}); diff != "" {
				rt.Fatalf("the reload comes to something else (-from scratch +reloaded):\n%s", diff)
			}
			r.checkClosed(rt)
		}
		if err := r.runtime.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

// empty returns an empty runtime.
func (*reloaded) empty(t *rapid.T) *runtime.AgentRuntime {
	rt, err := builder.New().Build()
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// checkClosed fails the test unless exactly the components that are not current are closed.
func (r *reloaded) checkClosed(t *rapid.T) {
	set := r.runtime.Revision().Set()
	var current []*declared
	for _, p := range set.Providers.All() {
		current = append(current, p.(*declared))
	}
	for _, p := range set.Tools.All() {
		current = append(current, p.(*declared))
	}
	for _, d := range current {
		if d.closed > 0 {
			t.Fatalf("%+v is current and closed", d.settings)
		}
	}
}

// entryOf is an entry in a document's registry.
type entryOf struct {
	id    string
	value map[string]any
}

// documentEditor makes random changes of a document.
type documentEditor struct {
	*rapid.T

	entries  map[string][]entryOf
	defaults string
}

// kindsOfEntries are a document's registries and the ids of their entries.
var kindsOfEntries = map[string][]string{
	"providers": {"p", "q"}, "models": {"m", "n"}, "tools": {"t", "u", "v"}, "agents": {"a", "b", "c", "d", "e"},
}

func (e *documentEditor) fill() {
	for _, kind := range []string{"providers", "models", "tools", "agents"} {
		for _, id := range kindsOfEntries[kind] {
			e.entries[kind] = append(e.entries[kind], entryOf{id, e.draw(kind)})
		}
	}
}

// edit changes, adds, removes or moves an entry, or changes the defaults.
func (e *documentEditor) edit() {
	kind := rapid.SampledFrom([]string{"agents", "agents", "agents", "tools", "models", "providers", "defaults"}).Draw(e.T, "kind")
	if kind == "defaults" {
		e.defaults = rapid.SampledFrom([]string{"", "Be brief.", "Be kind."}).Draw(e.T, "defaults")
		return
	}
	list := e.entries[kind]
	id := rapid.SampledFrom(kindsOfEntries[kind]).Draw(e.T, "id")
	at := slices.IndexFunc(list, func(one entryOf) bool { return one.id == id })
	switch how := rapid.SampledFrom([]string{"change", "change", "change", "remove", "move"}).Draw(e.T, "how"); {
	case at < 0:
		list = append(list, entryOf{id, e.draw(kind)})
	case how == "change":
		list[at].value = e.draw(kind)
	case how == "remove" && len(list) > 1:
		list = slices.Delete(list, at, at+1)
	case how == "move":
		one := list[at]
		list = slices.Insert(slices.Delete(list, at, at+1), 0, one)
	}
	e.entries[kind] = list
}

func (e *documentEditor) draw(kind string) map[string]any {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(e.T, label) }
	switch kind {
	case "providers", "tools":
		return map[string]any{"type": pick("type", "pure", "pure", "file"), "answer": pick("answer", "yes", "no"), "secret": pick("secret", "s3cret", "other")}
	case "models":
		return map[string]any{"provider_id": pick("provider", "p", "p", "q"), "upstream_model": pick("upstream", "up", "down")}
	}
	a := map[string]any{"model_id": pick("model", "m", "m", "n"), "system_prompt": pick("prompt", "old", "new"), "description": pick("description", "one", "two")}
	if rapid.Bool().Draw(e.T, "has a catalog") {
		a["allowed_tools"] = []string{pick("tool", "t", "u", "v")}
	}
	if rapid.IntRange(0, 2).Draw(e.T, "delegates") == 0 {
		a["delegates"] = []string{pick("delegate", "a", "b", "c", "d", "e")}
	}
	return a
}

// document returns the document with its entries in order.
func (e *documentEditor) document() []byte {
	out := []byte(`{"version":1`)
	for _, kind := range []string{"providers", "models", "tools", "agents"} {
		out = fmt.Appendf(out, ",%q:{", kind)
		for i, one := range e.entries[kind] {
			if i > 0 {
				out = append(out, ',')
			}
			value, err := json.Marshal(one.value)
			if err != nil {
				e.Fatal(err)
			}
			out = fmt.Appendf(out, "%q:%s", one.id, value)
		}
		out = append(out, '}')
	}
	if e.defaults != "" {
		out = fmt.Appendf(out, `,"defaults":{"system_prompt":%q}`, e.defaults)
	}
	return append(out, '}')
}
