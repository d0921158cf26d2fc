package resolve

import (
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// Summary describes how an agent resolves, in JSON: "runtime explain --format json" prints it.
type Summary struct {
	Agent    string `json:"agent"`
	Resolves bool   `json:"resolves"`
	// Path locates the agent in the configuration.
	Path string `json:"path,omitempty"`
	// Model is the id of the model or pool. Upstream and Provider are set for a model,
	// Pool, the ids of the members, for a pool.
	Model    string   `json:"model,omitempty"`
	Upstream string   `json:"upstream_model,omitempty"`
	Provider string   `json:"provider,omitempty"`
	Pool     []string `json:"pool,omitempty"`
	// ModelFacts are the known properties of the model or the pool's members, with their sources.
	ModelFacts []ModelFact `json:"model_facts,omitempty"`
	// Endpoint is the address of the peer that runs an agent without a model.
	Endpoint  string `json:"endpoint,omitempty"`
	Retried   bool   `json:"retried"`
	MaxRounds int    `json:"max_rounds,omitempty"`
	// Context is the effective context policy.
	Context *spec.ContextPolicy `json:"context_policy,omitempty"`
	Plugins []string            `json:"plugins"`
	// Tools are all considered tools, and Offered the ids of those offered to the model.
	Tools       []ToolChoice `json:"tools"`
	Offered     []string     `json:"offered_tools"`
	Stages      []Stage      `json:"stages"`
	Diagnostics diag.List    `json:"diagnostics"`
}

// Summarize returns the summary of an explanation, with the diagnostics about the agent. Without an
// explanation the summary states that the agent does not resolve.
func Summarize(agent string, e *Explanation, found diag.List) *Summary {
	s := &Summary{
		Agent: agent, Resolves: !found.HasErrors(),
		Plugins: []string{}, Tools: []ToolChoice{}, Offered: []string{}, Stages: []Stage{},
		Diagnostics: append(diag.List{}, found...),
	}
	if e == nil {
		return s
	}
	s.Agent, s.Path, s.Stages = e.Agent.ID, e.Path, e.Trace.Stages
	if e.Agent.Endpoint != nil {
		s.Endpoint = e.Agent.Endpoint.BaseURL
		if !e.Agent.Hosted() {
			return s
		}
		s.Endpoint = spec.HostedBackend + ":" + e.Agent.Endpoint.Target
	}
	s.Model, s.Retried, s.MaxRounds = e.Agent.ModelID, e.Retried, e.Agent.Rounds()
	s.ModelFacts = e.Facts
	s.Context, s.Tools = e.Agent.ContextPolicy, append(s.Tools, e.Tools...)
	if e.Model != nil {
		s.Upstream, s.Provider = e.Model.UpstreamModel, e.Model.ProviderID
	}
	if e.Pool != nil {
		for i := range e.Pool.Members {
			s.Pool = append(s.Pool, e.Pool.Members[i].ModelID)
		}
	}
	for _, p := range e.Plugins {
		s.Plugins = append(s.Plugins, p.ID)
	}
	for i := range e.Tools {
		if e.Tools[i].Offered() {
			s.Offered = append(s.Offered, e.Tools[i].ID)
		}
	}
	return s
}
