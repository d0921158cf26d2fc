package resolve

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// warnNoEffect warns about settings of an agent that cannot take effect. It ignores inherited
// settings unless they guard, because a default need not fit every agent.
func (m *merger) warnNoEffect(ids []string, catalog *toolset.Filter) {
	m.warnUnmeasuredCost()
	m.warnFilteredAgents(catalog)
	m.warnUndescribed()
	m.warnKnowledgeCutoff()
	m.warnRounds()
	m.warnRetry()
	m.warnStopConditions(ids, catalog)
	m.warnFilteredBudgets(ids, catalog)
}

// filteredHint explains how an agent gets a tool that its catalog filters out.
const filteredHint = "add it to allowed_tools, and remove it from excluded_tools and excluded_tool_patterns"

// warnFilteredAgents warns about delegates and handoffs whose tools the catalog filters out.
func (m *merger) warnFilteredAgents(catalog *toolset.Filter) {
	for i, id := range m.agent.Delegates {
		tool := agenttool.DelegateID(id)
		if m.isHidden(catalog, tool) && !slices.Contains(m.lost, tool) {
			m.warnIneffectiveHint(filteredHint, diag.Index("delegates", i), "the catalog filters out %q, the tool that calls agent %q", tool, id)
		}
	}
	for i, id := range m.agent.Handoffs {
		tool := agenttool.HandoffID(id)
		if m.isHidden(catalog, tool) && !slices.Contains(m.lost, tool) {
			m.warnIneffectiveHint(filteredHint, diag.Index("handoffs", i), "the catalog filters out %q, the tool that hands over to agent %q", tool, id)
		}
	}
	if m.agent.MaxHandoffs != nil && len(m.agent.Handoffs) == 0 {
		m.warnIneffective("max_handoffs", "max_handoffs limits nothing: the agent has no handoffs")
	}
}

// warnUndescribed warns about agents that this one may call or hand over to and that its model
// knows only by ID. Peers' agents are described elsewhere.
func (m *merger) warnUndescribed() {
	if m.passing {
		return
	}
	set := m.index.set
	for _, entry := range m.offered.entries {
		if entry.Source.Kind != toolset.SourceDelegate && entry.Source.Kind != toolset.SourceHandoff {
			continue
		}
		agent, ok := set.Agent(entry.Source.Name)
		if !ok || agent.Registry != "" || agent.UsesTools() && set.Defaults != nil && set.Defaults.Description != "" {
			continue
		}
		m.warnings = append(m.warnings, agent.CheckDescription(set.Agents.Path(agent.ID))...)
	}
}

// warnKnowledgeCutoff warns about a section that requests an unknown cutoff.
func (r *resolver) warnKnowledgeCutoff() {
	_, asked := r.agent.Sections[KnowledgeCutoffKey]
	if !asked || !r.cutoff.Enabled || r.executor == nil || r.knowledgeCutoff() != "" {
		return
	}
	why := fmt.Sprintf("model %q declares none", r.agent.ModelID)
	if r.pool != nil {
		why = fmt.Sprintf("the members of pool %q do not all declare the same one", r.pool.ID)
	}
	r.warnIneffective(diag.Key("sections", KnowledgeCutoffKey), "the model is told no knowledge cutoff: %s", why)
}

// warnContextPolicy warns about limits that the model's own limits undercut. It looks at the
// declared policy, before clampPolicy.
func (r *resolver) warnContextPolicy() {
	p := r.agent.ContextPolicy
	if p == nil || r.executor == nil {
		return
	}
	effective := r.policyOf(r.agent)
	known := r.capabilities
	if p.MaxContextTokens != nil && known.ContextWindow > 0 && *p.MaxContextTokens > known.ContextWindow {
		r.warnIneffective(r.policyAt("max_context_tokens"), "max_context_tokens is %d, but the context window has %d tokens", *p.MaxContextTokens, known.ContextWindow)
	}
	if p.MaxOutputTokens != nil && known.MaxOutput > 0 && *p.MaxOutputTokens > known.MaxOutput {
		r.warnIneffective(r.policyAt("max_output_tokens"), "max_output_tokens is %d, but an answer of the model has at most %d tokens", *p.MaxOutputTokens, known.MaxOutput)
	}
	if p.AutocompactThreshold == nil {
		r.warnNoCompaction()
	}
	if from := p.AutocompactThreshold; from != nil && *from != math.MaxInt && *from > effective.ContextTokens-effective.OutputTokens {
		r.warnIneffective(r.policyAt("autocompact_threshold"),
			"autocompact_threshold is %d, but a request has room for %d tokens, at which the conversation is summarized", *from, effective.ContextTokens-effective.OutputTokens)
	}
}

// warnNoCompaction warns about compaction settings when conversations are never summarized.
func (r *resolver) warnNoCompaction() {
	p := r.agent.ContextPolicy
	for _, setting := range []struct {
		given bool
		name  string
	}{
		{p.CompactionMode != "", "compaction_mode"},
		{p.CompactionRawSuffixMessages != nil, "compaction_raw_suffix_messages"},
		{p.SummaryModelID != "" && r.summary.executor != nil, "summary_model_id"}, // reported elsewhere if unknown
		{p.SummaryMaxTokens != nil, "summary_max_tokens"},
		{p.MinSavingsRatio != nil, "min_savings_ratio"},
	} {
		if setting.given {
			r.warnIneffective(r.policyAt(setting.name), "%s has no effect: without autocompact_threshold nothing is summarized", setting.name)
		}
	}
}

// warnRounds warns about settings that apply only after rounds or loops are detected, if that
// never happens.
func (r *resolver) warnRounds() {
	if r.agent.OnMaxRounds != "" && r.agent.Rounds() == 0 {
		r.warnIneffective("on_max_rounds", "on_max_rounds never applies: max_rounds is 0, which is unlimited")
	}
	if l := r.agent.LoopDetection; l != nil && l.Enabled != nil && !*l.Enabled {
		if l.ConsecutiveThreshold != nil {
			r.warnIneffective("loop_detection.consecutive_threshold", "loop_detection is not enabled")
		}
		if l.HardCutoffThreshold != nil {
			r.warnIneffective("loop_detection.hard_cutoff_threshold", "loop_detection is not enabled")
		}
	}
}

// warnRetry warns about retry settings when calls are never retried.
func (r *resolver) warnRetry() {
	var s map[string]json.RawMessage
	if json.Unmarshal(r.agent.Sections[RetryKey], &s) != nil || string(s["max_retries"]) != "0" {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		switch key {
		case "max_retries", "stream_idle_timeout", "stream_idle_timeout_secs", "first_token_timeout":
		default:
			r.warnIneffective(diag.Join(diag.Key("sections", RetryKey), key), "%s never applies: max_retries is 0", key)
		}
	}
}

// warnStopConditions warns about conditions that never hold.
func (m *merger) warnStopConditions(ids []string, catalog *toolset.Filter) {
	for i := range m.agent.StopConditions {
		c, path := &m.agent.StopConditions[i], diag.Index("stop_conditions", i)
		rounds := m.agent.Rounds()
		switch {
		case c.Type == spec.StopMaxRounds && c.Rounds == 0, c.Type == spec.StopTimeout && (c.Timeout == nil || *c.Timeout == 0),
			c.Type == spec.StopTokenBudget && c.MaxTotal == 0, c.Type == spec.StopConsecutiveErrors && c.Max == 0,
			c.Type == spec.StopOnTool && c.ToolName == "", c.Type == spec.StopContentMatch && c.Pattern == "",
			c.Type == spec.StopLoopDetection && c.Window == 0:
			m.warnIneffective(path, "the condition %s has no limit, so it never holds", c.Type)
		case c.Type == spec.StopMaxRounds && rounds > 0 && c.Rounds > rounds:
			m.warnIneffective(path+".rounds", "rounds is %d, but max_rounds ends the turn after %d", c.Rounds, rounds)
		case c.Type == spec.StopOnTool && m.isAbsent(c.ToolName, ids, catalog):
			m.warnIneffective(path+".tool_name", "the agent has no tool %q", c.ToolName)
		}
	}
}

// isAbsent reports whether an agent is known to lack a tool.
func (m *merger) isAbsent(id string, ids []string, catalog *toolset.Filter) bool {
	if m.broken || m.passing {
		return false // a plugin or the turn may bring it
	}
	m.dependOn(onTool, id)
	if _, registered := slices.BinarySearch(ids, id); registered {
		return m.isHidden(catalog, id)
	}
	m.anyTool = true
	return !m.index.set.Expected(id)
}

// warnFilteredBudgets warns about budgets of tools that the catalog filters out.
func (m *merger) warnFilteredBudgets(ids []string, catalog *toolset.Filter) {
	for _, name := range slices.Sorted(maps.Keys(m.agent.ToolBudgets)) {
		if _, registered := slices.BinarySearch(ids, name); registered && m.isHidden(catalog, name) {
			m.warnIneffective(diag.Key("tool_budgets", name), "the catalog filters out the tool %q", name)
		}
	}
}

// warnPools warns about pool settings for a choice that the pool does not have.
func (c *check) warnPools() {
	for id, pool := range c.set.Pools.All() {
		base := c.set.Pools.Path(id)
		ineffective := func(rel, why string) {
			c.rest = append(c.rest, diag.New(diag.NoEffect, diag.Join(base, rel), "%s", why))
		}
		homes := 0
		for i := range pool.Members {
			member := &pool.Members[i]
			if member.Home() {
				homes++
			} else if member.Weight != nil {
				ineffective(diag.Index("members", i)+".weight", "weight has no effect: no session starts at a failover_only member")
			}
		}
		if r := pool.Routing; r != nil && homes == 1 {
			if r.Home != "" {
				ineffective("routing.home", "home chooses nothing: sessions can begin at one member alone")
			}
			if r.StickyScope != "" && len(pool.Members) == 1 {
				ineffective("routing.sticky_scope", "sticky_scope keeps nothing: the pool has one member")
			}
		}
		s := pool.Switch
		if s == nil {
			continue
		}
		if len(pool.Members) == 1 {
			ineffective("switch", "switch never applies: the pool has one member")
		} else if s.QuotaRetryAfter != nil && s.OnQuota != nil && !*s.OnQuota {
			ineffective("switch.quota_retry_after_threshold", "quota_retry_after_threshold never applies: on_quota is false")
		}
	}
}
