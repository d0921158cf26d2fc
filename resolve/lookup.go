package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// lookupModel is the first stage. It finds the agent's endpoint and stops there, or finds its model
// or pool and their providers, and adds the wrappers that every model call needs.
func (r *resolver) lookupModel() {
	r.trace.beginStage(StageLookup)
	defer r.trace.endStage()
	r.trace.addChoice("looked up", "agent", r.agent.ID, r.whereAgent())
	if !r.agent.Local() {
		r.lookupEndpoint()
		if r.agent.Hosted() {
			r.decodePipeline()
		}
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

func (r *resolver) whereAgent() string {
	if r.agent.Registry != "" {
		return "discovered from " + r.agent.Registry
	}
	if len(r.origin) > 0 {
		return "with the defaults merged under it"
	}
	return ""
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
