package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/spf13/cobra"
)

// checkToolServer connects to an MCP server of a configuration, lists its tools and shows the
// result. It calls no tool; the catalogue is written like by validate --online.
func checkToolServer(ctx context.Context, cmd *cobra.Command, p *program, files []string, o *doctorOptions) error {
	l, err := p.load(files, true, unheard())
	if err != nil {
		return usagef(cmd, "%w", err)
	}
	defer l.close()
	rev, _, err := l.check(ctx)
	if err != nil {
		return err
	}
	set := rev.Set()
	bundle, ok := set.Bundles.Get(o.mcp)
	if !ok {
		return usagef(cmd, "no MCP server %q; there are %s", o.mcp, strings.Join(set.Bundles.IDs(), ", "))
	}
	live, ok := bundle.Source.(tools.TenantBundle)
	if !ok {
		return usagef(cmd, "%s is not an MCP server", o.mcp)
	}
	found := &backend.Examination{Peer: "MCP server " + o.mcp, Checks: listServer(ctx, live, &tools.TenantVariables{Declared: set.Tenants})}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range found.Checks {
		found.Checks[i].Seen = l.file.Redact(found.Checks[i].Seen)
	}
	if err := showExamination(p.out, found, o.format.value); err != nil {
		return err
	}
	if found.Count(backend.OutcomeError) > 0 {
		return exit{exitFailed}
	}
	return nil
}

// listServer lists the tools of a server and returns the checks.
func listServer(ctx context.Context, server tools.TenantBundle, tenant *tools.TenantVariables) []backend.Check {
	begun := time.Now()
	if err := server.RefreshFor(ctx, tenant); err != nil {
		return []backend.Check{{Name: "connection", Outcome: backend.OutcomeError, Seen: err.Error(), Want: "a server that lists its tools"}}
	}
	members, problems := server.Members()
	took := time.Since(begun).Round(time.Millisecond)
	checks := []backend.Check{{Name: "connection", Outcome: backend.OutcomeOK, Seen: fmt.Sprintf("%s after %s", count(len(members), "tool", "tools"), took)}}
	byEffect := map[tools.Effect][]string{}
	for _, m := range members {
		d := m.Tool.Descriptor()
		byEffect[d.EffectClass()] = append(byEffect[d.EffectClass()], m.ID)
	}
	for _, effect := range []tools.Effect{tools.Read, tools.Idempotent, tools.Once} {
		if ids := byEffect[effect]; len(ids) > 0 {
			slices.Sort(ids)
			checks = append(checks, backend.Check{Name: "effect " + string(effect), Outcome: backend.OutcomeOK, Seen: strings.Join(ids, ", ")})
		}
	}
	for i := range problems {
		check := backend.Check{Name: string(problems[i].Code), Outcome: backend.OutcomeWarning, Seen: problems[i].Message, Want: problems[i].Hint}
		if problems[i].Severity == diag.Error {
			check.Outcome = backend.OutcomeError
		}
		checks = append(checks, check)
	}
	return checks
}
