package resolve_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
)

// choosy is a provider whose models take two tools, and none by the name net_put.
type choosy struct{ silent }

func (choosy) ToolDialect(name string) model.ToolDialect { return choosyDialect(name) }

type choosyDialect string

func (d choosyDialect) Vendor() string { return string(d) }
func (choosyDialect) MaxTools() int    { return 3 }
func (choosyDialect) Adapt(t *model.Tool) (c model.ToolChange) {
	if t.Name == "net_put" {
		c.Name = "put"
	}
	if strings.HasPrefix(t.Name, "net_") {
		c.Dropped = []string{"pattern"}
	}
	return c
}

func choosyBase(d *registry.Draft) {
	d.Providers.Put("c", &choosy{})
	d.Models.Put("x", &spec.Model{ID: "x", ProviderID: "c", UpstreamModel: "Xs"})
	d.Models.Put("y", &spec.Model{ID: "y", ProviderID: "c", UpstreamModel: "Ys"})
	d.Pools.Put("both", &spec.Pool{ID: "both", Members: []spec.PoolMember{{ModelID: "x"}, {ModelID: "y"}}})
}

// TestAdaptedToolsAreNotedOnce checks agents that share tools: each tool is reported at its
// place, with the forms in which the models of all agents get it.
func TestAdaptedToolsAreNotedOnce(t *testing.T) {
	t.Parallel()
	edits := []draft{choosyBase, tool("net_get", "net_put", "wc", "net_unused")}
	for i := range 40 {
		edits = append(edits, agent(fmt.Sprintf("a%d", i), func(a *spec.Agent) { a.ModelID, a.AllowedTools = "x", []string{"net_get", "wc"} }))
	}
	edits = append(edits, agent("b", func(a *spec.Agent) { a.ModelID, a.AllowedTools = "both", []string{"net_get", "net_put"} }))
	edits = append(edits, agent("c", func(a *spec.Agent) { a.ModelID, a.AllowedTools = "m", []string{"net_unused"} }))
	rev, err := registry.NewStore(resolve.Check).Publish(context.Background(), func(d *registry.Draft) error {
		base(d)
		for _, edit := range edits {
			edit(d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range rev.Diagnostics() {
		if d.Code == diag.AdaptedTool {
			got = append(got, fmt.Sprintf("%s %s %s", d.Severity, d.Path, d.Message))
		}
	}
	want := []string{
		`info tools.net_get tool "net_get" is sent in another form: Xs without pattern; Ys without pattern`,
		`info tools.net_put tool "net_put" is sent in another form: Xs as put and without pattern; Ys as put and without pattern`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("reported are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	e, err := resolve.Explain(t.Context(), rev, "a1")
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(e.Diagnostics); !strings.Contains(text, "Xs without pattern") || strings.Contains(text, "Ys") {
		t.Errorf("the agent is explained with %s", text)
	}
}

func TestTooManyToolsForAModelAreAnError(t *testing.T) {
	t.Parallel()
	rev := revision(t, choosyBase, tool("t1", "t2", "t3", "t4"), agent("a", func(a *spec.Agent) { a.ModelID = "x" }))
	if err := refused(t, rev, "a"); !strings.Contains(err.Error(), `agent "a" offers 4 tools, but Xs takes at most 3`) {
		t.Error(err)
	}
}
