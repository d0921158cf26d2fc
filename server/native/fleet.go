package native

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

const (
	defaultAgents = 50
	maxAgents     = 200
)

// callerInfo describes the sender of a request.
type callerInfo struct {
	// Authenticated is false without a valid credential. The other fields are then empty.
	Authenticated bool   `json:"authenticated"`
	Tenant        string `json:"tenant,omitempty"`
	Subject       string `json:"subject,omitempty"`
	// Scopes are the caller's scopes that servers know.
	Scopes []string `json:"scopes,omitempty"`
	// SomeAgents is set if the caller may not use all agents.
	SomeAgents bool `json:"some_agents,omitempty"`
}

// serveCaller responds with the identity of a request's sender. It is public, so that a page can
// check whether it needs a key.
func serveCaller(w http.ResponseWriter, r *http.Request) {
	info := callerInfo{}
	if p, ok := server.PrincipalFrom(r.Context()); ok {
		c := &p.Caller
		info = callerInfo{Authenticated: true, Tenant: c.Tenant, Subject: c.Subject, SomeAgents: c.Agents != nil}
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
	// The other fields are set for callers that may read the configuration. Remote agents run at a
	// peer; Tools are the ids of the tools offered to the model.
	Remote    bool     `json:"remote,omitempty"`
	ModelID   string   `json:"model_id,omitempty"`
	Delegates []string `json:"delegates,omitempty"`
	Handoffs  []string `json:"handoffs,omitempty"`
	Tools     []string `json:"tools,omitempty"`
	// Budgets limit a turn of the agent.
	Budgets *spec.Budgets `json:"budgets,omitempty"`
}

// fleetPage is a page of agents.
type fleetPage struct {
	Agents []fleetAgent `json:"agents"`
	// Total counts the agents on all pages.
	Total int `json:"total"`
	// Next is the ID after which the next page begins; empty on the last page.
	Next string `json:"next,omitempty"`
}

// listFleet responds with a page of the agents that the caller may use.
func (c *call) listFleet() error {
	q := queryOf(c.r, querySearch, queryIDs, queryAfter, queryLimit)
	query := fleetQuery{
		search: q.readText(querySearch), ids: q.values[queryIDs], after: q.readText(queryAfter), limit: cmp.Or(q.pageLimit(maxAgents), defaultAgents),
	}
	if len(query.ids) > maxAgents {
		q.noteProblem(queryIDs, fmt.Sprintf("may be given at most %d times", maxAgents))
	}
	if q.err != nil {
		return q.err
	}
	page, err := c.readFleet(c.r.Context(), &query)
	return c.writeReply(http.StatusOK, page, err)
}

// fleetQuery selects agents. Empty fields do not restrict it.
type fleetQuery struct {
	// search is a text to find in the agents' IDs and descriptions.
	search string
	// ids restricts the result to these agents.
	ids []string
	// after is the ID before the page, which has up to limit agents.
	after string
	limit int
}

// matches reports whether the query selects an agent, regardless of the page.
func (q *fleetQuery) matches(id string, agent *spec.Agent) bool {
	if len(q.ids) > 0 && !slices.Contains(q.ids, id) {
		return false
	}
	search := strings.ToLower(q.search)
	return strings.Contains(strings.ToLower(id), search) || strings.Contains(strings.ToLower(agent.Description), search)
}

// readFleet returns a page of the agents that a query selects.
func (l *Local) readFleet(ctx context.Context, q *fleetQuery) (*fleetPage, error) {
	page := &fleetPage{Agents: []fleetAgent{}}
	whole := l.Caller.HasScope(settings.ScopeConfigRead)
	skipping := q.after != ""
	var shown []string
	for id, agent := range l.Service.Catalog(ctx, l.Caller).Agents() {
		if !q.matches(id, agent) {
			continue
		}
		page.Total++
		switch {
		case skipping:
			skipping = id != q.after
		case len(page.Agents) == q.limit:
			page.Next = shown[q.limit-1]
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
