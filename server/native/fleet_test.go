package native

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/service"
)

func TestTheFleetHasWhatACallerMaySee(t *testing.T) {
	w := serving(t)
	reads := func(c service.Caller) *Local {
		c.Tenant, c.Subject, c.ExtraScopes = "acme", "alice", []string{settings.ScopeConfigRead}
		return &Local{Service: w.service, Caller: c}
	}
	whole, err := reads(service.Caller{}).readFleet(t.Context(), fleetQuery{Limit: 200})
	if err != nil || whole.Total != len(whole.Agents) || whole.Total < 2 {
		t.Fatalf("%+v, %v", whole, err)
	}
	var walked []string
	for after := ""; ; {
		page, err := reads(service.Caller{}).readFleet(t.Context(), fleetQuery{After: after, Limit: 1})
		if err != nil || page.Total != whole.Total || len(page.Agents) != 1 {
			t.Fatalf("%+v, %v", page, err)
		}
		walked = append(walked, page.Agents[0].ID)
		if after = page.Next; after == "" {
			break
		}
	}
	if len(walked) != whole.Total {
		t.Errorf("the pages have %q", walked)
	}
	some, err := reads(service.Caller{Agents: service.NewAgentSet([]string{"boss"})}).readFleet(t.Context(), fleetQuery{Limit: 200})
	if err != nil || some.Total != 1 || some.Agents[0].ID != "boss" || some.Agents[0].ModelID == "" || len(some.Agents[0].Delegates) > 0 {
		t.Errorf("a caller for one agent sees %+v, %v", some, err)
	}
	plain := &Local{Service: w.service, Caller: service.Caller{Tenant: "acme", Subject: "alice"}}
	found, err := plain.readFleet(t.Context(), fleetQuery{Search: "BOSS", Limit: 200})
	if err != nil || found.Total != 1 || found.Agents[0].ModelID != "" || found.Agents[0].Tools != nil || found.Agents[0].Delegates != nil {
		t.Errorf("a caller that may not read the configuration sees %+v, %v", found, err)
	}
	named, err := plain.readFleet(t.Context(), fleetQuery{IDs: []string{"boss", "bos", walked[0]}, Limit: 200})
	if err != nil || named.Total != len(named.Agents) || !slices.ContainsFunc(named.Agents, func(a fleetAgent) bool { return a.ID == "boss" }) ||
		slices.ContainsFunc(named.Agents, func(a fleetAgent) bool { return a.ID != "boss" && a.ID != walked[0] }) {
		t.Errorf("the named agents are %+v, %v", named, err)
	}
}

func TestTheCallerIsTold(t *testing.T) {
	w := serving(t)
	for name, want := range map[string]string{
		"":      `{"authenticated":false}`,
		"nobod": `{"authenticated":false}`,
		"joe":   `{"authenticated":true,"tenant":"acme","subject":"joe"}`,
		"ann":   `"scopes":["models:read","runs:read","runs:write","sessions:read","sessions:write","a2a:invoke","a2a:discovery"],"some_agents":true}`,
	} {
		status, text := w.answerTo("GET /caller", "", "Authorization", "Bearer "+name)
		if status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%q: %d %s", name, status, text)
		}
	}
}
