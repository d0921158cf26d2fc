package settings

import "github.com/agentruntime/agentruntime/diag"

// warnIneffective adds a warning about a setting if it is given.
func warnIneffective(list *diag.List, given bool, path, format string, args ...any) {
	if given {
		*list = append(*list, diag.New(diag.NoEffect, path, format, args...))
	}
}

// setting is a setting of a section, and whether it is given.
type setting struct {
	name  string
	given bool
}

// warnNoEffect warns of settings for disabled parts of the server. It ignores whether the server
// listens, because processes with the same configuration may listen elsewhere.
func (s *Server) warnNoEffect() diag.List {
	var list diag.List
	need := func(section string, enabled bool, settings ...setting) {
		for _, one := range settings {
			warnIneffective(&list, one.given && !enabled, diag.Join(section, one.name), "%s has no effect: %s is not enabled", one.name, section)
		}
	}
	a := &s.A2A
	need("a2a", a.On(),
		setting{"v0_3", a.V03},
		setting{"default_agent", a.DefaultAgent != ""},
		setting{"unique_message_ids", a.UniqueMessageIDs},
		setting{"grpc_listen", a.GRPCListen != ""},
		setting{"grpc_address", a.GRPCAddress != ""},
		setting{"organization", a.Organization != ""},
		setting{"organization_url", a.OrganizationURL != ""},
		setting{"max_wait", a.MaxWait != nil},
		setting{"signing_key_file", a.SigningKeyFile != ""},
		setting{"push.enabled", a.Push.Enabled != nil && *a.Push.Enabled},
		setting{"push.allow_private", len(a.Push.AllowPrivate) > 0},
	)
	warnIneffective(&list, a.On() && !a.Push.On() && len(a.Push.AllowPrivate) > 0, "a2a.push.allow_private",
		"allow_private has no effect: push is not enabled")
	r := &s.AgentRuns
	need("agent_runs", r.On(),
		setting{"local_tool_timeout", r.LocalToolTimeout != nil},
		setting{"strict_tool_results", r.StrictToolResults},
		setting{"tools", r.Tools != nil},
		setting{"tool_budgets", len(r.ToolBudgets) > 0},
		setting{"allow_private", len(r.AllowPrivate) > 0},
	)
	need("workflows", s.Workflows.On(), setting{"max_starts", s.Workflows.MaxStarts != 0})
	const off = "%s has no effect over HTTP: mcp is false"
	warnIneffective(&list, !s.ServesMCP() && len(s.MCPPrompts) > 0, "mcp_prompts", off, "mcp_prompts")
	warnIneffective(&list, !s.ServesMCP() && len(s.MCPResources) > 0, "mcp_resources", off, "mcp_resources")
	need("agents", s.Agents.On(), setting{"agents", s.Agents.Agents != nil}, setting{"max_wait", s.Agents.MaxWait != nil})
	c := &s.Sessions
	need("sessions", c.On(),
		setting{"providers", len(c.Providers) > 0},
		setting{"legacy_metrics", c.LegacyMetrics},
		setting{"default_tool_narrowing_threshold", c.NarrowingThreshold != nil},
	)
	warnIneffective(&list, s.EncryptionKey != "" && s.OAuth == nil && !s.AgentRuns.On() && (!s.A2A.On() || !s.A2A.Push.On()) && (!s.Admin.On() || !s.Authenticated()), "encryption_key",
		"encryption_key has no effect: nothing is encrypted without access tokens, runs, notifications or tenant secrets")
	return list
}
