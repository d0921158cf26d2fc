package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

// lookupModel is the first stage. It finds the agent's endpoint and stops there, or finds its model
// or pool and their providers, and adds the wrappers that every model call needs.
func (r *resolver) lookupModel() {
	r.trace.beginStage(StageLookup)
	defer r.trace.endStage()
	r.trace.addChoice("looked up", "agent", r.agent.ID, r.whereAgent())
	if r.agent.Hosted() {
		r.lookupProvider()
		r.decodePipeline()
		return
	}
	if !r.agent.Local() {
		r.lookupEndpoint()
		return
	}
	r.decodePipeline()
	if r.call != nil {
		r.agent.ContextPolicy = nil
		r.served = served{executor: r.call, upstream: r.agent.ModelID}
		return
	}
	if r.agent.ModelID != "" { // the record's own validation reports its absence
		r.served = r.findServed(r.agent.ModelID, r.pathOf("model_id"))
	}
	if p := r.agent.ContextPolicy; p != nil && p.SummaryModelID != "" {
		own := r.dialects // summaries need no tools
		r.summary = r.findServed(p.SummaryModelID, r.pathOf(r.policyAt("summary_model_id")))
		r.dialects = own
	}
	r.warnContextPolicy()
	r.clampPolicy()
}

// served is an executor for a model, or for the members of a pool.
type served struct {
	// model or pool is the named entry.
	model *spec.Model
	pool  *spec.Pool
	// upstream is the vendor's name of the model, or the pool's id.
	upstream string
	// executor is nil if the model cannot be called.
	executor model.Executor
	// capabilities describe the model, or the pool's members combined.
	capabilities capabilities
}

func (r *resolver) whereAgent() string {
	if r.agent.Registry != "" {
		return "discovered from " + r.agent.Registry
	}
	if len(r.origin) > 0 {
		return "with the defaults merged under it"
	}
	return ""
}

// lookupEndpoint creates the backend of an endpoint-backed agent.
func (r *resolver) lookupEndpoint() {
	factory, errs := r.index.checkEndpoint(r.agent, r.agent.ID, r.pathOf("endpoint"))
	if errs != nil {
		r.errs = append(r.errs, errs...)
		return
	}
	kind := r.agent.Endpoint.Kind()
	remote, err := newBackend(factory, r.agent.Endpoint)
	if err != nil {
		r.addError(&InvalidEndpointError{
			Agent: r.agent.ID, Backend: kind,
			Found: diag.New(diag.InvalidEndpoint, r.pathOf("endpoint"), "%v", err),
		})
		return
	}
	r.remote = remote
	r.trace.addChoice("delegated", "the whole turn to backend", kind, "the agent has an endpoint")
}

// lookupProvider creates the backend of an agent at a hosted provider.
func (r *resolver) lookupProvider() {
	provider, errs := r.index.checkHosted(r.agent, r.agent.ID, r.pathOf("endpoint"))
	r.dependOn(onAgentProvider, r.agent.Endpoint.Target)
	if r.errs = append(r.errs, errs...); errs != nil {
		return
	}
	var made backend.Backend
	var err error
	if panicked := callGuarded("Host", func() { made, err = provider.Host(r.agent.Endpoint) }); panicked != nil {
		err = panicked
	}
	if err == nil && made == nil {
		err = errors.New("it made no backend")
	}
	if err != nil {
		r.addError(&InvalidEndpointError{
			Agent: r.agent.ID, Backend: spec.HostedBackend,
			Found: diag.New(diag.InvalidEndpoint, r.pathOf("endpoint"), "agent provider %q: %v", r.agent.Endpoint.Target, err),
		})
		return
	}
	r.remote = made
	r.trace.addChoice("hosted", "by agent provider", r.agent.Endpoint.Target, "the agent's answers come from there, its tools run here")
}

// checkHosted validates the endpoint of an agent at a hosted provider, and finds the provider.
// Errors name wanting, the agent that needs the endpoint.
func (x *index) checkHosted(agent *spec.Agent, wanting, path string) (backend.AgentProvider, []error) {
	id := agent.Endpoint.Target
	found := agent.Endpoint.Validate()
	provider, known := x.set.AgentProviders.Get(id)
	if known {
		err := callGuarded("Validate", func() { found = append(found, provider.Validate(agent.Endpoint)...) })
		if err != nil {
			found = append(found, diag.New(diag.InvalidEndpoint, "", "agent provider %q: %v", id, err))
		}
	}
	var errs []error
	for _, d := range found {
		d.Path = diag.Join(path, d.Path)
		errs = append(errs, &InvalidEndpointError{Agent: wanting, Backend: spec.HostedBackend, Found: d})
	}
	if !known && id != "" {
		errs = append(errs, &AgentProviderNotFoundError{Reference{
			ID: id, Agent: wanting, Path: diag.Join(path, "target"), Nearest: x.nearestID("agent provider", id, x.set.AgentProviders.IDs),
		}})
	}
	return provider, errs
}

// newBackend calls a factory to create an endpoint's backend.
func newBackend(factory backend.Factory, endpoint *spec.Endpoint) (made backend.Backend, err error) {
	if panicked := callGuarded("New", func() { made, err = factory.New(endpoint) }); panicked != nil {
		err = panicked
	}
	if err == nil && made == nil {
		err = errors.New("it made no backend")
	}
	if err != nil {
		return nil, fmt.Errorf("backend %q: %w", endpoint.Kind(), err)
	}
	return made, nil
}

// decodePipeline reads the sections that the resolver itself needs.
func (r *resolver) decodePipeline() {
	r.calling = defaultCalling()
	for _, c := range r.index.pipeline {
		v, ok := r.decodeSection(c)
		if !ok {
			continue
		}
		switch decoded := v.(type) {
		case calling:
			r.calling = decoded
		case compaction:
			r.fillPolicy(decoded)
		case cutoffContext:
			r.cutoff = decoded
		}
	}
}

// servedBy returns the vendor that serves the agent's model, for telemetry, or the provider's id if
// the vendor is unknown. A pool has several.
func (r *resolver) servedBy() string {
	if r.model == nil {
		return ""
	}
	return r.providerOf(r.model)
}

func (r *resolver) providerOf(m *spec.Model) string {
	exec, _ := r.index.set.Providers.Get(m.ProviderID)
	if v, ok := exec.(model.Vendor); ok {
		return cmp.Or(v.Vendor(), m.ProviderID)
	}
	return m.ProviderID
}

// poolProviders returns the vendors or providers that serve the pool's members, by model id; nil
// without a pool.
func (r *resolver) poolProviders() map[string]string {
	if r.pool == nil {
		return nil
	}
	all := make(map[string]string, len(r.pool.Members))
	for i := range r.pool.Members {
		if m, ok := r.index.set.Models.Get(r.pool.Members[i].ModelID); ok {
			all[m.ID] = r.providerOf(m)
		}
	}
	return all
}

// findServed finds the model or pool that is named at a path.
func (r *resolver) findServed(id, path string) (s served) {
	set := r.index.set
	r.dependOn(onModel, id)
	m, isModel := set.Models.Get(id)
	pool, isPool := set.Pools.Get(id)
	switch {
	case isModel && isPool:
		r.addError(&AmbiguousModelError{ID: id, Agent: r.agent.ID, Path: path})
	case isModel:
		r.checkWritesText(m, path)
		s.model, s.upstream = m, m.UpstreamModel
		s.executor = r.modelExecutor(m)
		s.capabilities = r.index.capabilitiesOf(m)
	case isPool:
		s.pool, s.upstream = pool, pool.ID
		if r.trace.isOn() {
			r.trace.addChoice("looked up", "model pool", id, memberIDs(pool))
		}
		s.executor, s.capabilities = r.poolExecutor(pool)
	default:
		r.addError(r.index.modelNotFound(id, r.agent.ID, path))
	}
	return s
}

func memberIDs(pool *spec.Pool) string {
	names := make([]string, len(pool.Members))
	for i := range pool.Members {
		names[i] = pool.Members[i].ModelID
		if !pool.Members[i].Home() {
			names[i] += " (failover only)"
		}
	}
	return "members " + strings.Join(names, ", ")
}

// executorOf returns the executor of a model's provider; nil if the provider does not exist.
func (r *resolver) executorOf(m *spec.Model) model.Executor {
	if r.trace.isOn() {
		r.trace.addChoice("looked up", "model", m.ID, fmt.Sprintf("upstream %q", m.UpstreamModel))
	}
	r.dependOn(onProvider, m.ProviderID)
	exec, ok := r.index.set.Providers.Get(m.ProviderID)
	if !ok {
		if m.ProviderID != "" {
			r.addError(r.index.providerNotFound(m, r.agent.ID))
			return nil
		}
		r.failBelow(r.index.set.Models.Path(m.ID), m.Validate())
		return nil
	}
	r.trace.addChoice("looked up", "provider", m.ProviderID, "")
	r.checkParams(m, exec)
	r.noteDialect(m, exec)
	keepsTags := m.ReasoningTags == spec.KeepTags
	if !m.HasOptions() && !keepsTags {
		return exec
	}
	return &model.Configured{Executor: exec, Params: model.OptionParams(&m.ModelOptions), Edits: m.Request, KeepTags: keepsTags}
}

// modelExecutor returns the executor of an agent that runs on one model; nil if its provider does
// not exist. The model's breaker counts a call once, regardless of retries.
func (r *resolver) modelExecutor(m *spec.Model) model.Executor {
	exec := r.executorOf(m)
	if exec == nil {
		return nil
	}
	breaker := r.index.breakerOf(m.ID)
	watched := &model.Watched{Executor: exec, Idle: r.calling.idle, FirstToken: r.calling.firstToken}
	exec = watched
	if r.usesRetries("provider", m.ProviderID) {
		exec = &model.Retrying{Executor: watched, Policy: r.calling.retry, Breaker: breaker}
	} else {
		watched.Breaker = breaker
	}
	if input := inputOf(m); len(input) > 0 {
		exec = &model.Limited{Executor: exec, ModelID: m.ID, Input: input}
	}
	return exec
}

// usesRetries reports whether the retry section applies to the model or pool, and records it in
// the trace.
func (r *resolver) usesRetries(kind, id string) bool {
	n := r.calling.retry.MaxRetries
	if n == 0 {
		return false
	}
	r.wrapped = true
	if r.trace.isOn() {
		r.trace.addChoice("wrapped", kind, id, fmt.Sprintf("sections.retry: up to %d retries", n))
	}
	return true
}

func inputOf(m *spec.Model) []spec.Modality {
	if m.Modalities == nil {
		return nil
	}
	return m.Modalities.Input
}

// checkWritesText reports a model that is named at a path to answer agents, but declares that it
// writes no text. A model that declares nothing is accepted.
func (r *resolver) checkWritesText(m *spec.Model, path string) {
	if m.Modalities == nil || len(m.Modalities.Output) == 0 || slices.Contains(m.Modalities.Output, spec.ModalityText) {
		return
	}
	output := make([]string, len(m.Modalities.Output))
	for i, modality := range m.Modalities.Output {
		output[i] = string(modality)
	}
	d := diag.New(diag.InvalidValue, path, "model %q cannot answer agents: its modalities.output is %s, without text", m.ID, strings.Join(output, ", "))
	d.Related = []diag.Related{{Message: "the model declares it here", Path: diag.Join(r.index.set.Models.Path(m.ID), "modalities.output")}}
	r.addError(d.ForAgent(r.agent.ID))
}

// poolExecutor returns the executor of a pool; nil if a member cannot be served. Retries wrap the
// pool, so that it moves on first.
func (r *resolver) poolExecutor(pool *spec.Pool) (model.Executor, capabilities) {
	if found := pool.Validate(); found.HasErrors() {
		r.failBelow(r.index.set.Pools.Path(pool.ID), found)
		return nil, capabilities{}
	}
	list := make([]model.Member, 0, len(pool.Members))
	models := make([]*spec.Model, 0, len(pool.Members))
	for i := range pool.Members {
		member := &pool.Members[i]
		r.dependOn(onModel, member.ModelID)
		m, ok := r.index.set.Models.Get(member.ModelID)
		if !ok {
			if member.ModelID != "" {
				r.addError(r.index.memberNotFound(pool, i, r.agent.ID))
			}
			continue
		}
		r.checkWritesText(m, diag.Index(diag.Join(r.index.set.Pools.Path(pool.ID), "members"), i)+".model_id")
		exec := r.executorOf(m)
		if exec == nil {
			continue
		}
		models = append(models, m)
		list = append(list, model.Member{
			ID: m.ID, Upstream: m.UpstreamModel, Executor: &model.Watched{Executor: exec, Idle: r.calling.idle, FirstToken: r.calling.firstToken},
			Breaker: r.index.breakerOf(m.ID), Input: inputOf(m),
			Weight: member.Share(), FailoverOnly: !member.Home(),
		})
	}
	if len(list) < len(pool.Members) {
		return nil, capabilities{}
	}
	known := r.index.capabilitiesOf(models...)
	keep := !r.passing || r.calling.silence == defaultCalling().silence
	shared := r.index.sharedPool(poolKey{id: pool.ID, silence: r.calling.silence}, keep, func() *model.Pool {
		return model.NewPool(pool.ID, list, poolPolicy(pool))
	})
	if !r.usesRetries("model pool", pool.ID) {
		return shared, known
	}
	return &model.Retrying{Executor: shared, Policy: r.calling.retry}, known
}

// failBelow reports the errors of a record that the agent uses. Check reports them for
// the record itself; in an unchecked revision nothing else does.
func (r *resolver) failBelow(path string, list diag.List) {
	for _, d := range list {
		d.Path = diag.Join(path, d.Path)
		r.addError(d.ForAgent(r.agent.ID))
	}
}

func poolPolicy(pool *spec.Pool) model.PoolPolicy {
	policy := model.PoolPolicy{Home: model.HomeDeterministic, OnCircuitOpen: true, OnQuota: true, OnPermanent: true}
	if r := pool.Routing; r != nil {
		if r.Home != "" {
			policy.Home = model.Home(r.Home)
		}
		policy.PerTurn = r.StickyScope == "run"
	}
	if s := pool.Switch; s != nil {
		policy.OnCircuitOpen = s.OnCircuitOpen == nil || *s.OnCircuitOpen
		policy.OnQuota = s.OnQuota == nil || *s.OnQuota
		policy.OnPermanent = s.OnPermanent == nil || *s.OnPermanent
		policy.MaxMoves = s.MaxSwitchesPerSession
		if s.QuotaRetryAfter != nil {
			policy.QuotaThreshold = s.QuotaRetryAfter.Std()
		}
	}
	return policy
}

func (x *index) modelNotFound(id, agent, path string) error {
	meant, hint := x.modelHint(id)
	if hint == "" {
		meant = x.nearestID("model", id, func() []string {
			return append(append([]string(nil), x.set.Models.IDs()...), x.set.Pools.IDs()...)
		})
	}
	return &ModelNotFoundError{Reference{ID: id, Agent: agent, Path: path, Nearest: meant, Hint: hint}}
}

func (x *index) memberNotFound(pool *spec.Pool, i int, agent string) error {
	id := pool.Members[i].ModelID
	path := diag.Index(diag.Join(x.set.Pools.Path(pool.ID), "members"), i) + ".model_id"
	meant, hint := x.modelHint(id)
	if hint == "" {
		meant = x.nearestID("member", id, x.set.Models.IDs)
	}
	return &ModelNotFoundError{Reference{ID: id, Agent: agent, Path: path, Nearest: meant, Hint: hint}}
}

func (x *index) providerNotFound(m *spec.Model, agent string) error {
	path := diag.Join(x.set.Models.Path(m.ID), "provider_id")
	meant, hint := x.providerHint(m.ProviderID)
	if hint == "" {
		meant = x.nearestID("provider", m.ProviderID, x.set.Providers.IDs)
	}
	return &ProviderNotFoundError{Reference{ID: m.ProviderID, Agent: agent, Path: path, Nearest: meant, Hint: hint}}
}

func (x *index) agentNotFound(id, agent, path string) error {
	return &AgentNotFoundError{Reference{ID: id, Agent: agent, Path: path, Nearest: x.nearestID("agent", id, x.set.AgentIDs)}}
}

// unknownAgent is agentNotFound for an id from outside the revision: looking up many ids must not
// make the revision grow.
func (x *index) unknownAgent(id string) error {
	near, _ := nearest.Of(id, x.set.AgentIDs())
	return &AgentNotFoundError{Reference{ID: id, Nearest: near}}
}

// checkEndpoint validates the endpoint of an endpoint-backed agent, finds its factory and also lets
// the factory validate it. Errors name wanting, the agent that needs the endpoint.
func (x *index) checkEndpoint(agent *spec.Agent, wanting, path string) (backend.Factory, []error) {
	if agent.Hosted() {
		_, errs := x.checkHosted(agent, wanting, path)
		return nil, errs
	}
	kind := agent.Endpoint.Kind()
	found := agent.Endpoint.Validate()
	factory, known := x.set.Backends.Get(kind)
	if known {
		err := callGuarded("Validate", func() { found = append(found, factory.Validate(agent.Endpoint)...) })
		if err != nil {
			found = append(found, diag.New(diag.InvalidEndpoint, "", "backend %q: %v", kind, err))
		}
	}
	var errs []error
	for _, d := range found {
		d.Path = diag.Join(path, d.Path)
		errs = append(errs, &InvalidEndpointError{Agent: wanting, Backend: kind, Found: d})
	}
	if !known {
		if agent.Endpoint.Backend != "" {
			path = diag.Join(path, "backend")
		}
		errs = append(errs, &UnsupportedBackendError{Agent: wanting, Backend: kind, Path: path, Known: x.set.Backends.IDs()})
	}
	return factory, errs
}

// agentPath returns the path of an agent in a configuration.
func agentPath(set *registry.Set, agent *spec.Agent) string {
	if agent.Registry == "" {
		return set.Agents.Path(agent.ID)
	}
	if src, ok := set.Sources.Get(agent.Registry); ok {
		return src.Path()
	}
	return ""
}
