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

// lookupModel is the first stage. It finds the agent's endpoint and stops there, or
// finds its model or pool and their providers, and wraps them in what every model
// call needs.
func (t *template) lookupModel() {
	t.trace.beginStage(StageLookup)
	defer t.trace.endStage()
	t.trace.addChoice("looked up", "agent", t.agent.ID, t.whereAgent())
	if t.agent.Hosted() {
		t.lookupProvider()
		t.decodePipeline()
		return
	}
	if !t.agent.Local() {
		t.lookupEndpoint()
		return
	}
	t.decodePipeline()
	if t.call != nil {
		t.agent.ContextPolicy = nil
		t.served = served{executor: t.call, upstream: t.agent.ModelID}
		return
	}
	if t.agent.ModelID != "" { // the record's own validation reports its absence
		t.served = t.findServed(t.agent.ModelID, t.pathOf("model_id"))
	}
	if p := t.agent.ContextPolicy; p != nil && p.SummaryModelID != "" {
		own := t.dialects // summaries need no tools
		t.summary = t.findServed(p.SummaryModelID, t.pathOf(t.summaryAt))
		t.dialects = own
	}
	t.warnContextPolicy()
	t.clampPolicy()
}

// served is what asks a model, or the members of a pool.
type served struct {
	// model or pool is what was named.
	model *spec.Model
	pool  *spec.Pool
	// upstream is the vendor's name of the model, or the pool's id.
	upstream string
	// executor is nil when the model cannot be asked.
	executor model.Executor
	// capabilities are those of the model, or of the pool's members together.
	capabilities capabilities
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
	factory, errs := t.index.checkEndpoint(t.agent, t.agent.ID, t.pathOf("endpoint"))
	if errs != nil {
		t.errs = append(t.errs, errs...)
		return
	}
	kind := t.agent.Endpoint.Kind()
	remote, err := newBackend(factory, t.agent.Endpoint)
	if err != nil {
		t.addError(&InvalidEndpointError{
			Agent: t.agent.ID, Backend: kind,
			Found: diag.New(diag.InvalidEndpoint, t.pathOf("endpoint"), "%v", err),
		})
		return
	}
	t.remote = remote
	t.trace.addChoice("delegated", "the whole turn to backend", kind, "the agent has an endpoint")
}

// lookupProvider makes the backend of an agent at a hosted provider.
func (t *template) lookupProvider() {
	provider, errs := t.index.checkHosted(t.agent, t.agent.ID, t.pathOf("endpoint"))
	t.dependOn(onAgentProvider, t.agent.Endpoint.Target)
	if t.errs = append(t.errs, errs...); errs != nil {
		return
	}
	var made backend.Backend
	var err error
	if panicked := callGuarded("Host", func() { made, err = provider.Host(t.agent.Endpoint) }); panicked != nil {
		err = panicked
	}
	if err == nil && made == nil {
		err = errors.New("it made no backend")
	}
	if err != nil {
		t.addError(&InvalidEndpointError{
			Agent: t.agent.ID, Backend: spec.HostedBackend,
			Found: diag.New(diag.InvalidEndpoint, t.pathOf("endpoint"), "agent provider %q: %v", t.agent.Endpoint.Target, err),
		})
		return
	}
	t.remote = made
	t.trace.addChoice("hosted", "by agent provider", t.agent.Endpoint.Target, "the agent's answers come from there, its tools run here")
}

// checkHosted validates the endpoint of an agent at a hosted provider, and finds the
// provider. The agent named in errors is the one that wants to reach it.
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

// newBackend lets a factory make the backend of an endpoint.
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

// decodePipeline reads the sections that resolving itself needs.
func (t *template) decodePipeline() {
	t.calling, t.summaryAt = defaultCalling(), "context_policy.summary_model_id"
	for _, c := range t.index.pipeline {
		v, ok := t.decodeSection(c)
		if !ok {
			continue
		}
		switch decoded := v.(type) {
		case calling:
			t.calling = decoded
		case compaction:
			t.fillPolicy(decoded)
		case cutoffContext:
			t.cutoff = decoded
		}
	}
}

// servedBy returns who serves the agent's model, for telemetry: the vendor, or the
// provider's id if that is unknown. A pool has several.
func (t *template) servedBy() string {
	if t.model == nil {
		return ""
	}
	return t.providerOf(t.model)
}

func (t *template) providerOf(m *spec.Model) string {
	exec, _ := t.index.set.Providers.Get(m.ProviderID)
	if v, ok := exec.(model.Vendor); ok {
		return cmp.Or(v.Vendor(), m.ProviderID)
	}
	return m.ProviderID
}

// poolProviders returns who serves the members of the agent's pool, by the ids of
// the models; nil when it has none.
func (t *template) poolProviders() map[string]string {
	if t.pool == nil {
		return nil
	}
	all := make(map[string]string, len(t.pool.Members))
	for i := range t.pool.Members {
		if m, ok := t.index.set.Models.Get(t.pool.Members[i].ModelID); ok {
			all[m.ID] = t.providerOf(m)
		}
	}
	return all
}

// findServed finds the model or pool that is named at a path.
func (t *template) findServed(id, path string) (s served) {
	set := t.index.set
	t.dependOn(onModel, id)
	m, isModel := set.Models.Get(id)
	pool, isPool := set.Pools.Get(id)
	switch {
	case isModel && isPool:
		t.addError(&AmbiguousModelError{ID: id, Agent: t.agent.ID, Path: path})
	case isModel:
		t.checkWritesText(m, path)
		s.model, s.upstream = m, m.UpstreamModel
		s.executor = t.modelExecutor(m)
		s.capabilities = t.index.capabilitiesOf(m)
	case isPool:
		s.pool, s.upstream = pool, pool.ID
		if t.trace.isOn() {
			t.trace.addChoice("looked up", "model pool", id, memberIDs(pool))
		}
		s.executor, s.capabilities = t.poolExecutor(pool)
	default:
		t.addError(t.index.modelNotFound(id, t.agent.ID, path))
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

// executorOf returns the executor of a model's provider, or nil when that does not
// exist.
func (t *template) executorOf(m *spec.Model) model.Executor {
	if t.trace.isOn() {
		t.trace.addChoice("looked up", "model", m.ID, fmt.Sprintf("upstream %q", m.UpstreamModel))
	}
	t.dependOn(onProvider, m.ProviderID)
	exec, ok := t.index.set.Providers.Get(m.ProviderID)
	if !ok {
		if m.ProviderID != "" {
			t.addError(t.index.providerNotFound(m, t.agent.ID))
			return nil
		}
		t.failBelow(t.index.set.Models.Path(m.ID), m.Validate())
		return nil
	}
	t.trace.addChoice("looked up", "provider", m.ProviderID, "")
	t.checkParams(m, exec)
	t.noteDialect(m, exec)
	if !m.HasOptions() {
		return exec
	}
	return &model.Configured{Executor: exec, Params: model.OptionParams(&m.ModelOptions), Edits: m.Request}
}

// modelExecutor returns the executor of an agent that runs on one model, or nil
// when its provider does not exist. However often a call is repeated, the
// model's breaker counts it once.
func (t *template) modelExecutor(m *spec.Model) model.Executor {
	exec := t.executorOf(m)
	if exec == nil {
		return nil
	}
	breaker := t.index.breakerOf(m.ID)
	watched := &model.Watched{Executor: exec, Idle: t.calling.idle, FirstToken: t.calling.firstToken}
	exec = watched
	if t.usesRetries("provider", m.ProviderID) {
		exec = &model.Retrying{Executor: watched, Policy: t.calling.retry, Breaker: breaker}
	} else {
		watched.Breaker = breaker
	}
	if input := inputOf(m); len(input) > 0 {
		exec = &model.Limited{Executor: exec, ModelID: m.ID, Input: input}
	}
	return exec
}

// usesRetries reports whether calls of what is named are repeated, as the retry
// section says.
func (t *template) usesRetries(kind, id string) bool {
	n := t.calling.retry.MaxRetries
	if n == 0 {
		return false
	}
	t.wrapped = true
	if t.trace.isOn() {
		t.trace.addChoice("wrapped", kind, id, fmt.Sprintf("sections.retry: up to %d retries", n))
	}
	return true
}

func inputOf(m *spec.Model) []spec.Modality {
	if m.Modalities == nil {
		return nil
	}
	return m.Modalities.Input
}

// checkWritesText reports a model that is named at a path to answer agents, but
// declares that it writes no text. A model that declares nothing may write it.
func (t *template) checkWritesText(m *spec.Model, path string) {
	if m.Modalities == nil || len(m.Modalities.Output) == 0 || slices.Contains(m.Modalities.Output, spec.ModalityText) {
		return
	}
	output := make([]string, len(m.Modalities.Output))
	for i, modality := range m.Modalities.Output {
		output[i] = string(modality)
	}
	d := diag.New(diag.InvalidValue, path, "model %q cannot answer agents: its modalities.output is %s, without text", m.ID, strings.Join(output, ", "))
	d.Related = []diag.Related{{Message: "the model declares it here", Path: diag.Join(t.index.set.Models.Path(m.ID), "modalities.output")}}
	t.addError(d.ForAgent(t.agent.ID))
}

// poolExecutor returns the executor of a pool, or nil when a member cannot be
// served. Calls are repeated around the pool, so that it moves on first.
func (t *template) poolExecutor(pool *spec.Pool) (model.Executor, capabilities) {
	if found := pool.Validate(); found.HasErrors() {
		t.failBelow(t.index.set.Pools.Path(pool.ID), found)
		return nil, capabilities{}
	}
	list := make([]model.Member, 0, len(pool.Members))
	models := make([]*spec.Model, 0, len(pool.Members))
	for i := range pool.Members {
		member := &pool.Members[i]
		t.dependOn(onModel, member.ModelID)
		m, ok := t.index.set.Models.Get(member.ModelID)
		if !ok {
			if member.ModelID != "" {
				t.addError(t.index.memberNotFound(pool, i, t.agent.ID))
			}
			continue
		}
		t.checkWritesText(m, diag.Index(diag.Join(t.index.set.Pools.Path(pool.ID), "members"), i)+".model_id")
		exec := t.executorOf(m)
		if exec == nil {
			continue
		}
		models = append(models, m)
		list = append(list, model.Member{
			ID: m.ID, Upstream: m.UpstreamModel, Executor: &model.Watched{Executor: exec, Idle: t.calling.idle, FirstToken: t.calling.firstToken},
			Breaker: t.index.breakerOf(m.ID), Input: inputOf(m),
			Weight: member.Share(), FailoverOnly: !member.Home(),
		})
	}
	if len(list) < len(pool.Members) {
		return nil, capabilities{}
	}
	known := t.index.capabilitiesOf(models...)
	keep := !t.passing || t.calling.silence == defaultCalling().silence
	shared := t.index.sharedPool(poolKey{id: pool.ID, silence: t.calling.silence}, keep, func() *model.Pool {
		return model.NewPool(pool.ID, list, poolPolicy(pool))
	})
	if !t.usesRetries("model pool", pool.ID) {
		return shared, known
	}
	return &model.Retrying{Executor: shared, Policy: t.calling.retry}, known
}

// failBelow reports the errors of a record that the agent uses. Check reports them for
// the record itself; in an unchecked revision nothing else does.
func (t *template) failBelow(path string, list diag.List) {
	for _, d := range list {
		d.Path = diag.Join(path, d.Path)
		t.addError(d.ForAgent(t.agent.ID))
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

// unknownAgent is agentNotFound for an id from outside the revision: asking for
// many ids must not make the revision grow.
func (x *index) unknownAgent(id string) error {
	near, _ := nearest.Of(id, x.set.AgentIDs())
	return &AgentNotFoundError{Reference{ID: id, Nearest: near}}
}

// checkEndpoint validates the endpoint of an endpoint-backed agent, finds the
// factory that reaches it and lets that validate it, too. The agent named in
// errors is the one that wants to reach it.
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

// agentPath returns where an agent stands in a configuration.
func agentPath(set *registry.Set, agent *spec.Agent) string {
	if agent.Registry == "" {
		return set.Agents.Path(agent.ID)
	}
	if src, ok := set.Sources.Get(agent.Registry); ok {
		return src.Path()
	}
	return ""
}
