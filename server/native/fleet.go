package native

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

const defaultAgents = 50

// caller describes the sender of a request.
type caller struct {
	// Authenticated is false without a valid credential. The other fields are then empty.
	Authenticated bool   `json:"authenticated"`
	Tenant        string `json:"tenant,omitempty"`
	Subject       string `json:"subject,omitempty"`
	// Scopes are the caller's scopes that servers know.
	Scopes     []string `json:"scopes,omitempty"`
	SomeAgents bool     `json:"some_agents,omitempty" jsonschema:"Whether the credential is limited to some agents."`
}

// serveCaller responds with the identity of a request's sender. It is public, so that a page can
// check whether it needs a key.
func serveCaller(w http.ResponseWriter, r *http.Request) {
	info := caller{}
	if p, ok := server.PrincipalFrom(r.Context()); ok {
		c := &p.Caller
		info = caller{Authenticated: true, Tenant: c.Tenant, Subject: c.Subject, SomeAgents: c.Agents != nil}
		for _, scope := range settings.Scopes {
			if c.HasScope(scope) {
				info.Scopes = append(info.Scopes, scope)
			}
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	_ = server.WriteJSON(w, http.StatusOK, &info) // the client is gone
}

// fleetAgent is a declared agent.
type fleetAgent struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
	// The other fields are set for callers that may read the configuration.
	Remote    bool          `json:"remote,omitempty" jsonschema:"Whether the agent runs at a peer."`
	ModelID   string        `json:"model_id,omitempty"`
	Delegates []string      `json:"delegates,omitempty"`
	Handoffs  []string      `json:"handoffs,omitempty"`
	Tools     []string      `json:"tools,omitempty" jsonschema:"Tools offered to the model."`
	Budgets   *spec.Budgets `json:"budgets,omitempty" type:"object" jsonschema:"Limits of a turn."`
}

// fleet is a page of agents.
type fleet struct {
	Agents []fleetAgent `json:"agents"`
	Total  int          `json:"total" jsonschema:"Number of agents on all pages."`
	// Next is the ID after which the next page begins.
	Next string `json:"next,omitempty" jsonschema:"Value of after for the next page. Absent on the last page."`
}

// fleetQuery selects agents. Empty fields do not restrict it.
type fleetQuery struct {
	Search string   `query:"q" jsonschema:"Only agents with this text in their id or description."`
	IDs    []string `query:"ids" maxItems:"200" jsonschema:"Only the agents with these ids."`
	// After is the ID before the page.
	After string `query:"after" jsonschema:"Value of next from the previous page."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50" jsonschema:"Maximum number of agents on a page."`
}

// matches reports whether the query selects an agent, regardless of the page.
func (q *fleetQuery) matches(id string, agent *spec.Agent) bool {
	if len(q.IDs) > 0 && !slices.Contains(q.IDs, id) {
		return false
	}
	search := strings.ToLower(q.Search)
	return strings.Contains(strings.ToLower(id), search) || strings.Contains(strings.ToLower(agent.Description), search)
}

// readFleet returns a page of the agents that a query selects.
func (l *Local) readFleet(ctx context.Context, q fleetQuery) (*fleet, error) {
	page, limit := &fleet{Agents: []fleetAgent{}}, cmp.Or(q.Limit, defaultAgents)
	whole := l.Caller.HasScope(settings.ScopeConfigRead)
	skipping := q.After != ""
	var shown []string
	for id, agent := range l.Service.Catalog(ctx, l.Caller).Agents() {
		if !q.matches(id, agent) {
			continue
		}
		page.Total++
		switch {
		case skipping:
			skipping = id != q.After
		case len(page.Agents) == limit:
			page.Next = shown[limit-1]
		default:
			page.Agents = append(page.Agents, l.fleetAgentOf(id, agent, whole))
			shown = append(shown, id)
		}
	}
	if skipping {
		return nil, service.ErrCursor
	}
	if !whole {
		return page, nil
	}
	summaries, err := l.Service.Summaries(ctx, l.Caller, shown)
	for i := range page.Agents {
		if s := summaries[page.Agents[i].ID]; s != nil {
			page.Agents[i].ModelID, page.Agents[i].Tools = s.Model, s.Offered
		}
	}
	return page, err
}

func (l *Local) fleetAgentOf(id string, agent *spec.Agent, whole bool) fleetAgent {
	shown := fleetAgent{ID: id, Description: agent.Description}
	if whole {
		visible := func(ids []string) []string {
			return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !l.Caller.Agents.Has(id) })
		}
		shown.Remote, shown.Budgets = agent.Endpoint != nil, agent.Budgets
		shown.Delegates, shown.Handoffs = visible(agent.Delegates), visible(agent.Handoffs)
	}
	return shown
}
