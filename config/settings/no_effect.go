package settings

import "github.com/agentruntime/agentruntime/diag"

// warnIneffective adds a warning about a setting if it is given.
func warnIneffective(list *diag.List, given bool, path, format string, args ...any) {
	if given {
		*list = append(*list, diag.New(diag.NoEffect, path, format, args...))
	}
}

// warnNoEffect warns of settings for disabled parts of the server. It ignores whether the server
// listens, because processes with the same configuration may listen elsewhere.
func (s *Server) warnNoEffect() diag.List {
	var list diag.List
	if a := &s.A2A; !a.On() {
		const off = "%s has no effect: a2a is not enabled"
		for _, setting := range []struct {
			given bool
			name  string
		}{
			{a.V03, "v0_3"},
			{a.DefaultAgent != "", "default_agent"},
			{a.UniqueMessageIDs, "unique_message_ids"},
			{a.GRPCListen != "", "grpc_listen"},
			{a.GRPCAddress != "", "grpc_address"},
			{a.Organization != "", "organization"},
			{a.OrganizationURL != "", "organization_url"},
			{a.MaxWait != nil, "max_wait"},
			{a.SigningKeyFile != "", "signing_key_file"},
			{a.Push.Enabled != nil && *a.Push.Enabled, "push.enabled"},
			{len(a.Push.AllowPrivate) > 0, "push.allow_private"},
		} {
			warnIneffective(&list, setting.given, "a2a."+setting.name, off, setting.name)
		}
	} else {
		warnIneffective(&list, !a.Push.On() && len(a.Push.AllowPrivate) > 0, "a2a.push.allow_private",
			"allow_private has no effect: push is not enabled")
	}
	if r := &s.AgentRuns; !r.On() {
		const off = "%s has no effect: agent_runs is not enabled"
		warnIneffective(&list, r.LocalToolTimeout != nil, "agent_runs.local_tool_timeout", off, "local_tool_timeout")
		warnIneffective(&list, r.StrictToolResults, "agent_runs.strict_tool_results", off, "strict_tool_results")
		warnIneffective(&list, r.Tools != nil, "agent_runs.tools", off, "tools")
		warnIneffective(&list, len(r.ToolBudgets) > 0, "agent_runs.tool_budgets", off, "tool_budgets")
		warnIneffective(&list, len(r.AllowPrivate) > 0, "agent_runs.allow_private", off, "allow_private")
	}
	if w := &s.Workflows; !w.On() {
		warnIneffective(&list, w.MaxStarts != 0, "workflows.max_starts", "max_starts has no effect: workflows is not enabled")
	}
	if !s.ServesMCP() {
		const off = "%s has no effect over HTTP: mcp is false"
		warnIneffective(&list, len(s.MCPPrompts) > 0, "mcp_prompts", off, "mcp_prompts")
		warnIneffective(&list, len(s.MCPResources) > 0, "mcp_resources", off, "mcp_resources")
	}
	if a := &s.Agents; !a.On() {
		const off = "%s has no effect: agents is not enabled"
		warnIneffective(&list, a.Agents != nil, "agents.agents", off, "agents")
		warnIneffective(&list, a.MaxWait != nil, "agents.max_wait", off, "max_wait")
	}
	if c := &s.Sessions; !c.On() {
		const off = "%s has no effect: sessions is not enabled"
		warnIneffective(&list, len(c.Providers) > 0, "sessions.providers", off, "providers")
		warnIneffective(&list, c.LegacyMetrics, "sessions.legacy_metrics", off, "legacy_metrics")
		warnIneffective(&list, c.NarrowingThreshold != nil, "sessions.default_tool_narrowing_threshold", off, "default_tool_narrowing_threshold")
	}
	warnIneffective(&list, s.EncryptionKey != "" && s.OAuth == nil && !s.AgentRuns.On() && (!s.A2A.On() || !s.A2A.Push.On()) && (!s.Admin.On() || !s.Authenticated()), "encryption_key",
		"encryption_key has no effect: nothing is encrypted without access tokens, runs, notifications or tenant secrets")
	return list
}
