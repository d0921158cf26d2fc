package toolgrant

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"pgregory.net/rapid"
)

// deed is a tool with an effect.
type deed tools.Effect

func (d deed) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Effect(d)} }

func (deed) Call(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, nil }

// scopeOf returns a scope with some tools, those that begin with r safe.
func scopeOf(t interface{ Fatal(...any) }, agent *spec.Agent, threshold int, ids ...string) *Scope {
	store := registry.NewStore(nil)
	_, err := store.PublishUnchecked(context.Background(), func(d *registry.Draft) error {
		for _, id := range ids {
			effect := tools.Once
			if strings.HasPrefix(id, "r") {
				effect = tools.Read
			}
			d.Tools.Put(id, deed(effect))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &Scope{Set: store.Current().Set(), Usable: ids, Agent: agent, Threshold: threshold}
}

func grantedOf(g *Grant) string {
	agent := &spec.Agent{}
	g.Apply(agent)
	return strings.Join(agent.AllowedTools, " ")
}

func TestTooManySafeToolsAreNarrowedByTheMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "r-mail rjira rread",
		"Ask rjira.":                    "rjira",
		"ask RJIRA's board and r-mail!": "r-mail rjira",
		"the rjiras and r-mailing":      "r-mail rjira rread",
		"x-rjira, rjira_x":              "r-mail rjira rread",
		"(rread)":                       "rread",
		"größe rjira größe":             "rjira",
		"rjirarjira rjira":              "rjira",
	} {
		s := scopeOf(t, &spec.Agent{}, 2, "pay", "r-mail", "rjira", "rread")
		g, err := s.Choose(&Request{}, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := grantedOf(g); got != want {
			t.Errorf("%q gives %q and should give %q", text, got, want)
		}
	}
	s := scopeOf(t, &spec.Agent{}, 3, "pay", "r-mail", "rjira", "rread")
	if g, err := s.Choose(&Request{Refs: []Ref{{Plugin: "pay"}}}, "rjira"); err != nil || grantedOf(g) != "pay r-mail rjira rread" {
		t.Errorf("as many as are allowed come to %+v, %v", g, err)
	}
	s.Threshold = 2
	if g, err := s.Choose(&Request{Refs: []Ref{{Plugin: "pay"}}}, "rjira"); err != nil || grantedOf(g) != "pay rjira" {
		t.Errorf("with one that is named it comes to %+v, %v", g, err)
	}
}

func TestASearchNeedsItsPluginAndATool(t *testing.T) {
	t.Parallel()
	asked := &Request{Source: SourceSearch}
	if _, err := scopeOf(t, &spec.Agent{}, 9, "read").Choose(asked, ""); err == nil || !strings.Contains(err.Error(), "this program does not have") {
		t.Errorf("without the plugin: %v", err)
	}
	if g, err := scopeOf(t, &spec.Agent{}, 9, "pay").Choose(asked, ""); err != nil || g.Search || grantedOf(g) != "" {
		t.Errorf("without a tool: %+v, %v", g, err)
	}
}

func TestPropertyATurnIsGivenNothingThatItsAgentMayNotUse(t *testing.T) {
	t.Parallel()
	all := []string{"pay", "rjira", "rread", "send"}
	rapid.Check(t, func(t *rapid.T) {
		some := func(label string) []string {
			return rapid.SliceOfDistinct(rapid.SampledFrom(all), rapid.ID[string]).Draw(t, label)
		}
		agent := &spec.Agent{ExcludedTools: some("excluded")}
		if rapid.Bool().Draw(t, "limited") {
			agent.AllowedTools = append(spec.Names{}, some("allowed")...)
		}
		usable := some("usable")
		s := scopeOf(t, agent, rapid.IntRange(1, 3).Draw(t, "threshold"), all...)
		s.Usable = usable
		asked := &Request{Source: rapid.SampledFrom([]string{"", SourceExplicit, SourceCatalog}).Draw(t, "source")}
		if rapid.Bool().Draw(t, "refs") {
			asked.Refs = []Ref{}
			for _, id := range append(some("named"), some("stars")...) {
				asked.Refs = append(asked.Refs, Ref{App: id})
			}
		}
		g, err := s.Choose(asked, rapid.SampledFrom(append(all, "", "hello")).Draw(t, "text"))
		if err != nil {
			return
		}
		g.Apply(agent)
		for _, id := range agent.AllowedTools {
			if !slices.Contains(usable, id) || slices.Contains(agent.ExcludedTools, id) {
				t.Fatalf("it is given %s", id)
			}
			named := slices.ContainsFunc(asked.Refs, func(r Ref) bool { return r.App == id })
			if !named && (!strings.HasPrefix(id, "r") || asked.Source == SourceExplicit || asked.Refs != nil && len(asked.Refs) == 0) {
				t.Fatalf("it is given %s, which it did not name", id)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"plugin":"*"}]`), "explicit")
	f.Add([]byte(`null`), "")
	f.Add([]byte(`[{"system":"workflow","operation":"runs.list"}]`), "native_search")
	f.Fuzz(func(t *testing.T, refs []byte, source string) {
		asked, err := Parse(json.RawMessage(refs), source)
		if err != nil {
			return
		}
		for i := range asked.Refs {
			if asked.Refs[i].owner() == "" {
				t.Fatalf("%s has a reference to nothing", refs)
			}
		}
	})
}
