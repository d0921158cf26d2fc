package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/spf13/cobra"
)

// checkToolServer connects to a configured MCP server, lists its tools and shows the result. It
// calls no tool; the catalog is written as by validate --online.
func checkToolServer(ctx context.Context, cmd *cobra.Command, p *program, files []string, o *doctorOptions) error {
	l, err := p.load(files, true, unheard())
	if err != nil {
		return command.Usagef(cmd, "%w", err)
	}
	defer l.close()
	rev, _, err := l.check(ctx)
	if err != nil {
		return err
	}
	set := rev.Set()
	bundle, ok := set.Bundles.Get(o.mcp)
	if !ok {
		return command.Usagef(cmd, "no MCP server %q; %s", o.mcp, listKnown(set.Bundles.IDs()))
	}
	live, ok := bundle.Source.(tools.TenantBundle)
	if !ok {
		return command.Usagef(cmd, "%s is not an MCP server", o.mcp)
	}
	tenant := &tools.TenantVariables{Declared: set.Tenants}
	found := &backend.Examination{Peer: "MCP server " + o.mcp}
	if server, ok := bundle.Source.(tools.LoginBundle); ok && server.NeedsLogin() {
		err = p.checkLogin(ctx, l, server, tenant, found, o)
	} else {
		found.Checks = listServer(ctx, live, tenant)
	}
	if err != nil {
		return p.complain(ctx, l, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range found.Checks {
		found.Checks[i].Seen = l.file.Redact(found.Checks[i].Seen)
	}
	return showExamination(command.NewOutput(&p.Streams, cmd, command.Unredacted), found)
}

// checkLogin checks the login of a tenant or subject and lists the tools with it. It may read the
// store while a server is running.
func (p *program) checkLogin(ctx context.Context, l *loaded, server tools.LoginBundle, tenant *tools.TenantVariables, found *backend.Examination, o *doctorOptions) error {
	return p.withLoginStore(ctx, l, p.StoreDriver(l.file).OpenReadOnly, func(s *service.Service) error {
		tenant.Source = frozenLogins{s.LoginsOf(o.tenant, o.subject)}
		login, err := server.CheckLogin(ctx, tenant)
		if err != nil {
			found.Checks = []backend.Check{{Name: "login", Outcome: backend.OutcomeError, Seen: err.Error(), Want: "a login that is valid or can be renewed"}}
			return nil
		}
		seen := fmt.Sprintf("at %s for tenant %s", login.Issuer, o.tenant)
		if !login.Expiry.IsZero() {
			seen += ", token expires at " + login.Expiry.Format(time.RFC3339)
		}
		if login.IsRenewable {
			seen += ", is renewed"
		}
		found.Checks = append([]backend.Check{{Name: "login", Outcome: backend.OutcomeOK, Seen: seen}}, listServer(ctx, server.(tools.TenantBundle), tenant)...) //nolint:forcetypeassert // the caller has checked it
		return nil
	})
}

// errFrozen reports that a login was not changed.
var errFrozen = errors.New("the token must be renewed, which doctor does not do")

// frozenLogins are read-only logins.
type frozenLogins struct{ tools.LoginSource }

// LoginRecord returns a read-only record.
func (f frozenLogins) LoginRecord(server, subject string) tools.LoginRecord {
	return frozenRecord{f.LoginSource.LoginRecord(server, subject)}
}

type frozenRecord struct{ tools.LoginRecord }

// Replace fails.
func (frozenRecord) Replace(context.Context, string, string) (bool, error) { return false, errFrozen }

// listServer lists the tools of a server and returns the checks.
func listServer(ctx context.Context, server tools.TenantBundle, tenant *tools.TenantVariables) []backend.Check {
	begun := time.Now()
	switch err := server.RefreshFor(ctx, tenant); {
	case errors.Is(err, errFrozen):
		return []backend.Check{{Name: "connection", Outcome: backend.OutcomeWarning, Seen: errFrozen.Error(), Want: "a token that is still valid; the next call of a tool renews it"}}
	case err != nil:
		return []backend.Check{{Name: "connection", Outcome: backend.OutcomeError, Seen: err.Error(), Want: "a server that lists its tools"}}
	}
	members, problems := server.Members()
	took := time.Since(begun).Round(time.Millisecond)
	checks := []backend.Check{{Name: "connection", Outcome: backend.OutcomeOK, Seen: fmt.Sprintf("%s after %s", terminal.Count(len(members), "tool", "tools"), took)}}
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
