package resolve

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

// lookup is the first stage. It finds the agent's endpoint and stops there, or
// finds its model or pool, the providers behind it, and wraps them as the
// retry section says.
func (t *template) lookup() {
	t.trace.stage(StageLookup)
	defer t.trace.end()
	t.trace.add("looked up", fmt.Sprintf("agent %q", t.agent.ID), t.whereAgent())
	if !t.agent.Local() {
		t.lookupEndpoint()
		return
	}
	t.decodePipeline()
	t.lookupModel()
}

func (t *template) whereAgent() string {
	if t.agent.Registry != "" {
		return "discovered from " + t.agent.Registry
	}
	if len(t.origin) > 0 {
		return "with the defaults merged under it"
	}
	return ""
}

// lookupEndpoint makes the backend of an endpoint-backed agent.
func (t *template) lookupEndpoint() {
	factory, errs := t.index.checkEndpoint(t.agent, t.agent.ID, t.path("endpoint"))
	if errs != nil {
		t.errs = append(t.errs, errs...)
		return
	}
	remote, err := factory.New(t.agent.Endpoint)
	if err != nil {
		t.fail(&InvalidEndpointError{
			Agent: t.agent.ID, Backend: factory.Kind(),
			Found: diag.New(diag.InvalidEndpoint, t.path("endpoint"), "%v", err),
		})
		return
	}
	t.remote = remote
	t.trace.add("delegated", fmt.Sprintf("the whole turn to backend %q", factory.Kind()), "the agent has an endpoint")
}

// decodePipeline reads the sections that resolving itself needs.
func (t *template) decodePipeline() {
	for _, c := range t.index.pipeline {
		v, ok := t.section(c)
		if policy, is := v.(*model.RetryPolicy); ok && is {
			t.retry = policy
		}
	}
}

// lookupModel finds the model or pool that the agent names.
func (t *template) lookupModel() {
	id := t.agent.ModelID
	if id == "" {
		return // the record's own validation reports it
	}
	set, path := t.index.set, t.path("model_id")
	m, isModel := set.Models.Get(id)
	pool, isPool := set.Pools.Get(id)
	switch {
	case isModel && isPool:
		t.fail(&AmbiguousModelError{ID: id, Agent: t.agent.ID, Path: path})
	case isModel:
		t.model, t.upstream = m, m.UpstreamModel
		t.executor = t.executorOf(m, t.agent.ID)
	case isPool:
		t.pool, t.upstream = pool, pool.ID
		t.trace.add("looked up", fmt.Sprintf("model pool %q", id), members(pool))
		t.executor = t.poolExecutor(pool)
	default:
		t.fail(t.index.modelNotFound(id, t.agent.ID, path))
	}
}

func members(pool *spec.Pool) string {
	names := make([]string, len(pool.Members))
	for i := range pool.Members {
		names[i] = pool.Members[i].ModelID
		if !pool.Members[i].Home() {
			names[i] += " (failover only)"
		}
	}
	return "members " + strings.Join(names, ", ")
}

// executorOf returns the executor that serves a model, wrapped for retries, or
// nil when its provider does not exist.
func (t *template) executorOf(m *spec.Model, agent string) model.Executor {
	t.trace.add("looked up", fmt.Sprintf("model %q", m.ID), fmt.Sprintf("upstream %q", m.UpstreamModel))
	exec, ok := t.index.set.Providers.Get(m.ProviderID)
	if !ok {
		if m.ProviderID != "" { // else the record's own validation reports it
			t.fail(t.index.providerNotFound(m, agent))
		}
		return nil
	}
	t.trace.add("looked up", fmt.Sprintf("provider %q", m.ProviderID), "")
	if t.retry == nil || t.retry.MaxRetries == 0 {
		return exec
	}
	t.wrapped = true
	if t.trace.on() {
		t.trace.add("wrapped", fmt.Sprintf("provider %q", m.ProviderID), fmt.Sprintf("sections.retry: up to %d retries", t.retry.MaxRetries))
	}
	return &model.Retrying{Executor: exec, Policy: *t.retry}
}

// poolExecutor returns the executor of a pool, or nil when a member cannot be
// served. Its state is shared by all agents of the revision that use it.
func (t *template) poolExecutor(pool *spec.Pool) model.Executor {
	list := make([]model.Member, 0, len(pool.Members))
	for i := range pool.Members {
		member := &pool.Members[i]
		m, ok := t.index.set.Models.Get(member.ModelID)
		if !ok {
			if member.ModelID != "" {
				t.fail(t.index.memberNotFound(pool, i, t.agent.ID))
			}
			continue
		}
		exec := t.executorOf(m, t.agent.ID)
		if exec == nil {
			continue
		}
		list = append(list, model.Member{
			ID: m.ID, Upstream: m.UpstreamModel, Executor: exec,
			Weight: member.Share(), FailoverOnly: !member.Home(),
		})
	}
	if len(list) < len(pool.Members) {
		return nil
	}
	key := poolKey{id: pool.ID}
	if t.retry != nil {
		key.retry = *t.retry
	}
	return t.index.sharedPool(key, func() *model.Pool {
		return model.NewPool(pool.ID, list, poolPolicy(pool))
	})
}

func poolPolicy(pool *spec.Pool) model.PoolPolicy {
	policy := model.PoolPolicy{Home: model.HomeDeterministic, OnQuota: true, OnPermanent: true}
	if r := pool.Routing; r != nil && r.Home != "" {
		policy.Home = model.Home(r.Home)
	}
	if s := pool.Switch; s != nil {
		policy.OnQuota = s.OnQuota == nil || *s.OnQuota
		policy.OnPermanent = s.OnPermanent == nil || *s.OnPermanent
		if s.QuotaRetryAfter != nil {
			policy.QuotaThreshold = s.QuotaRetryAfter.Std()
		}
	}
	return policy
}

func (x *index) modelNotFound(id, agent, path string) error {
	return &ModelNotFoundError{Reference{ID: id, Agent: agent, Path: path, Nearest: x.nearest("model", id, func() []string {
		return append(append([]string(nil), x.set.Models.IDs()...), x.set.Pools.IDs()...)
	})}}
}

func (x *index) memberNotFound(pool *spec.Pool, i int, agent string) error {
	id := pool.Members[i].ModelID
	path := diag.Index(diag.Join(x.set.Pools.Path(pool.ID), "members"), i) + ".model_id"
	return &ModelNotFoundError{Reference{ID: id, Agent: agent, Path: path, Nearest: x.nearest("member", id, x.set.Models.IDs)}}
}

func (x *index) providerNotFound(m *spec.Model, agent string) error {
	path := diag.Join(x.set.Models.Path(m.ID), "provider_id")
	return &ProviderNotFoundError{Reference{ID: m.ProviderID, Agent: agent, Path: path, Nearest: x.nearest("provider", m.ProviderID, x.set.Providers.IDs)}}
}

func (x *index) agentNotFound(id, agent, path string) error {
	return &AgentNotFoundError{Reference{ID: id, Agent: agent, Path: path, Nearest: x.nearest("agent", id, x.set.AgentIDs)}}
}

// checkEndpoint finds the factory for an endpoint-backed agent and lets it
// validate the endpoint. The agent named in errors is the one that wants to
// reach it.
func (x *index) checkEndpoint(agent *spec.Agent, wanting, path string) (factory backendFactory, errs []error) {
	kind := agent.Endpoint.Kind()
	factory, ok := x.set.Backends.Get(kind)
	if !ok {
		at := path
		if agent.Endpoint.Backend != "" {
			at = diag.Join(path, "backend")
		}
		return nil, []error{&UnsupportedBackendError{Agent: wanting, Backend: kind, Path: at, Known: x.set.Backends.IDs()}}
	}
	for _, d := range append(agent.Endpoint.Validate(), factory.Validate(agent.Endpoint)...) {
		d.Path = diag.Join(path, d.Path)
		errs = append(errs, &InvalidEndpointError{Agent: wanting, Backend: kind, Found: d})
	}
	if errs != nil {
		return nil, errs
	}
	return factory, nil
}

// agentPath returns where an agent stands in a configuration.
func agentPath(set *registry.Set, agent *spec.Agent) string {
	if agent.Registry == "" {
		return set.Agents.Path(agent.ID)
	}
	if src, ok := set.Sources.Get(agent.Registry); ok {
		return diag.Index("remote_agents", src.Position)
	}
	return ""
}
