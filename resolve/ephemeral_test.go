package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// passing is an agent that a turn brings along, with tools of its own.
func passing(change func(*spec.Agent), ids ...string) *resolve.Ephemeral {
	e := &resolve.Ephemeral{Agent: &spec.Agent{ID: "guest", ModelID: "m"}}
	if change != nil {
		change(e.Agent)
	}
	for _, id := range ids {
		e.Tools = append(e.Tools, resolve.EphemeralTool{ID: id, Tool: echoTool("A tool of the turn.")})
	}
	return e
}

func resolved(t *testing.T, rev *registry.Revision, e *resolve.Ephemeral) *resolve.Plan {
	t.Helper()
	p, err := resolve.ResolveEphemeral(t.Context(), rev, e, resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func unresolved(t *testing.T, rev *registry.Revision, e *resolve.Ephemeral) error {
	t.Helper()
	p, err := resolve.ResolveEphemeral(t.Context(), rev, e, resolve.Options{})
	if err == nil || p != nil {
		t.Fatalf("it resolves to %+v, %v", p, err)
	}
	return err
}

func TestAnAgentThatATurnBringsAlongResolvesLikeADeclaredOne(t *testing.T) {
	rev := revision(t, agent("guest"), tool("a"))
	got, want := resolved(t, rev, passing(nil)), plan(t, rev, "guest")
	if got.Model != want.Model || got.Retried != want.Retried || got.Local.Upstream != want.Local.Upstream || got.Local.ModelID != want.Local.ModelID ||
		!slices.Equal(ids(got), ids(want)) || got.Revision != rev {
		t.Errorf("it resolves to %+v, a declared one to %+v", got, want)
	}
}

func TestTheDefaultsAreMergedUnderAnAgentThatATurnBringsAlong(t *testing.T) {
	rev := revision(t, func(d *registry.Draft) {
		d.Defaults = &spec.Defaults{Agent: spec.Agent{ModelID: "m", MaxRounds: new(7), SystemPrompt: "theirs"}}
	})
	e := passing(func(a *spec.Agent) { a.ModelID, a.SystemPrompt = "", "its own" })
	got := resolved(t, rev, e).Agent
	if got.ModelID != "m" || got.Rounds() != 7 || got.SystemPrompt != "its own" {
		t.Errorf("it is %+v", got)
	}
	if e.Agent.ModelID != "" || e.Agent.MaxRounds != nil {
		t.Errorf("what the turn brought has changed: %+v", e.Agent)
	}
}

func TestAModelThatDoesNotExistIsNamedWithTheNearest(t *testing.T) {
	rev := revision(t, func(d *registry.Draft) {
		d.Models.Put("grand", &spec.Model{ID: "grand", ProviderID: "p", UpstreamModel: "x"})
		d.Pools.Put("shared", &spec.Pool{ID: "shared", Members: []spec.PoolMember{{ModelID: "m"}}})
	})
	for id, near := range map[string]string{"grnad": "grand", "sharde": "shared", "unheard-of": ""} {
		err := unresolved(t, rev, passing(func(a *spec.Agent) { a.ModelID = id }))
		missing, ok := errors.AsType[*resolve.ModelNotFoundError](err)
		if !ok || missing.ID != id || missing.Nearest != near || missing.Path != "model_id" || missing.Agent != "guest" {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := unresolved(t, rev, passing(func(a *spec.Agent) { a.ModelID = "" })); !slices.Equal(places(diag.FromError(err)), []string{"missing-field model_id"}) {
		t.Errorf("without a model: %v", places(diag.FromError(err)))
	}
}

func TestTheCatalogDecidesAboutToolsThatATurnBringsAlong(t *testing.T) {
	rev := revision(t, tool("global", "other"))
	for name, c := range map[string]struct {
		change func(*spec.Agent)
		want   []string
	}{
		"everything":          {nil, []string{"global", "mine", "other", "yours"}},
		"what is allowed":     {func(a *spec.Agent) { a.AllowedTools = spec.Names{"mine"} }, []string{"mine"}},
		"patterns":            {func(a *spec.Agent) { a.AllowedToolPatterns = spec.Names{"*r*"} }, []string{"other", "yours"}},
		"but what is not":     {func(a *spec.Agent) { a.ExcludedTools = spec.Names{"mine", "global"} }, []string{"other", "yours"}},
		"nothing, if it says": {func(a *spec.Agent) { a.AllowedTools = spec.Names{} }, []string{}},
	} {
		p := resolved(t, rev, passing(c.change, "mine", "yours"))
		if got := ids(p); !slices.Equal(got, c.want) || !slices.Equal(offered(p), c.want) {
			t.Errorf("%s: it has %v", name, got)
		}
	}
	p := resolved(t, rev, passing(nil, "mine"))
	if source := p.Local.Tools.Get("mine").Source; source.Kind != toolset.SourceTurn || source.String() != "tool of the turn" {
		t.Errorf("it comes from the %s", source)
	}
}

func TestAToolOfTheTurnTakesThePlaceOfAGlobalOne(t *testing.T) {
	rev := revision(t, tool("a", "b"), agent("declared"))
	p := resolved(t, rev, passing(nil, "b"))
	if got := ids(p); !slices.Equal(got, []string{"a", "b"}) || p.Local.Tools.Get("b").Descriptor.Description != "A tool of the turn." {
		t.Errorf("it has %v, b is %+v", got, p.Local.Tools.Get("b").Descriptor)
	}
	if got := plan(t, rev, "declared").Local.Tools.Get("b").Descriptor.Description; got != "A global tool." {
		t.Errorf("others see %q", got)
	}
}

func TestToolsThatATurnCannotBringAlong(t *testing.T) {
	rev := revision(t, tool("a"), plugin("pack", brings("packed")), agent("clerk"))
	for name, c := range map[string]struct {
		e    *resolve.Ephemeral
		want string
	}{
		"two with one id":        {passing(nil, "x", "x"), "tool-id-conflict tools[1]"},
		"one of a plugin":        {passing(func(a *spec.Agent) { a.PluginIDs = []string{"pack"} }, "packed"), "tool-id-conflict plugin_ids[0]"},
		"one of a delegate":      {passing(func(a *spec.Agent) { a.Delegates = []string{"clerk"} }, agenttool.DelegateID("clerk")), "tool-id-conflict delegates[0]"},
		"an id that models mind": {passing(nil, "a b"), "invalid-id tools[0]"},
		"nothing":                {&resolve.Ephemeral{Agent: passing(nil).Agent, Tools: []resolve.EphemeralTool{{ID: "x"}}}, "invalid-value tools[0]"},
		"one that panics":        {&resolve.Ephemeral{Agent: passing(nil).Agent, Tools: []resolve.EphemeralTool{{ID: "x", Tool: panickingTool{}}}}, "invalid-schema tools[0]"},
		"an invalid schema":      {&resolve.Ephemeral{Agent: passing(nil).Agent, Tools: []resolve.EphemeralTool{{ID: "x", Tool: rawTool(`{"type":5}`)}}}, "invalid-schema tools[0]"},
	} {
		if got := places(diag.FromError(unresolved(t, rev, c.e))); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAnAgentThatATurnBringsAlongRunsHere(t *testing.T) {
	rev := revision(t, withBackend(factory{}))
	err := unresolved(t, rev, passing(func(a *spec.Agent) { a.Endpoint = &spec.Endpoint{BaseURL: "https://x.example"} }))
	if !holds[*resolve.RemoteNotLocalError](err) {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := resolve.ResolveEphemeral(ctx, rev, passing(nil), resolve.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestOverridesHoldForAnAgentThatATurnBringsAlong(t *testing.T) {
	p, err := resolve.ResolveEphemeral(t.Context(), revision(t), passing(nil), resolve.Options{Overrides: resolve.Overrides{MaxRounds: new(3)}})
	if err != nil || p.Agent.Rounds() != 3 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestARevisionKeepsNothingOfWhatTurnsBringAlong(t *testing.T) {
	rev := revision(t, tool("a"), agent("clerk"), plugin("pack", brings("packed")), func(d *registry.Draft) {
		d.Pools.Put("shared", &spec.Pool{ID: "shared", Members: []spec.PoolMember{{ModelID: "m"}}})
		d.Sources.Put("peers", &registry.Source{Spec: spec.RemoteSource{Name: "peers"}})
	})
	bring := func(i int) {
		resolved(t, rev, passing(func(a *spec.Agent) {
			a.ID, a.ModelID = fmt.Sprintf("guest%d", i), "shared"
			a.Delegates = []string{"clerk", fmt.Sprintf("peers/agent%d", i)}
			a.AllowedTools = spec.Names{"a", fmt.Sprintf("own%d", i)}
			a.Sections = spec.Sections{"retry": fmt.Appendf(nil, `{"stream_idle_timeout":%q}`, time.Duration(i+1)*time.Second)}
		}, fmt.Sprintf("own%d", i)))
		resolved(t, rev, passing(func(a *spec.Agent) { a.PluginIDs = []string{"pack"} }))
	}
	for i := range 3 {
		bring(i)
	}
	before := resolve.Kept(rev)
	for i := range 50 {
		bring(i + 3)
	}
	if after := resolve.Kept(rev); after != before {
		t.Errorf("it keeps %d things, then %d", before, after)
	}
}

func TestMisspelledIDsDoNotMakeARevisionGrowForEver(t *testing.T) {
	rev := revision(t)
	for i := range resolve.MaxSuggestions + 500 {
		unresolved(t, rev, passing(func(a *spec.Agent) { a.ModelID = fmt.Sprintf("gone%d", i) }))
	}
	if kept := resolve.Kept(rev); kept > resolve.MaxSuggestions+10 {
		t.Errorf("it keeps %d things", kept)
	}
}

func TestAnEphemeralAgentResolvesWithFewAllocations(t *testing.T) { //nolint:paralleltest // counts allocations
	rev := revision(t, tool("a", "b", "c"))
	e := passing(func(a *spec.Agent) { a.AllowedTools = spec.Names{"a", "mine"} }, "mine")
	const allowed = 150
	n := testing.AllocsPerRun(100, func() {
		if _, err := resolve.ResolveEphemeral(t.Context(), rev, e, resolve.Options{}); err != nil {
			t.Fatal(err)
		}
	})
	if n > allowed {
		t.Errorf("it makes %g allocations, at most %d are allowed", n, allowed)
	}
}

func BenchmarkResolveEphemeral(b *testing.B) {
	rev := revision(b, tool("a", "b", "c"))
	e := passing(func(a *spec.Agent) { a.AllowedTools = spec.Names{"a", "mine"} }, "mine")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := resolve.ResolveEphemeral(b.Context(), rev, e, resolve.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
