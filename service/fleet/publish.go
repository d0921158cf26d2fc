package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// ErrFromFiles reports that the process's files define the runtime, so nothing else can be
// published.
var ErrFromFiles = errors.New("the configuration comes from files: change them, or set revisions.source to store")

// InvalidError reports a document with errors.
type InvalidError struct {
	// Findings are all findings, including warnings and notes.
	Findings diag.List
}

// Error lists the errors.
func (e *InvalidError) Error() string { return e.Findings.Err().Error() }

// WidenedError reports a rejected change that lets agents do more than before.
type WidenedError struct {
	Diff *resolve.DiffReport
	// Tenants are the effects of a new base on tenants; nil without tenants.
	Tenants *TenantsProof
}

// Error names the agents and tenants.
func (e *WidenedError) Error() string {
	return "the change widens access for " + listAffected(e.Diff, e.Tenants, func(d *resolve.AgentDiff) string {
		if !d.Widened() {
			return ""
		}
		return "agent " + d.Agent
	})
}

// LostError reports a rejected change by which agents lose tools.
type LostError struct {
	Diff *resolve.DiffReport
	// Tenants are the effects of a new base on tenants; nil without tenants.
	Tenants *TenantsProof
}

// Error names the agents with their tools, and the tenants.
func (e *LostError) Error() string {
	return "the change takes tools away from " + listAffected(e.Diff, e.Tenants, func(d *resolve.AgentDiff) string {
		if len(d.Lost()) == 0 {
			return ""
		}
		return fmt.Sprintf("agent %s (%s)", d.Agent, strings.Join(d.Lost(), ", "))
	})
}

// listAffected lists the agents, including those of tenants, for which describe returns a text, at
// most ten.
func listAffected(diff *resolve.DiffReport, tenants *TenantsProof, describe func(*resolve.AgentDiff) string) string {
	var who []string
	add := func(diff *resolve.DiffReport, of string) {
		for i := range diff.Agents {
			if text := describe(&diff.Agents[i]); text != "" {
				who = append(who, text+of)
			}
		}
	}
	add(diff, "")
	if tenants != nil {
		for i := range tenants.Changed {
			add(tenants.Changed[i].Diff, " of tenant "+tenants.Changed[i].Tenant)
		}
	}
	const shown = 10
	if more := len(who) - shown; more > 0 {
		who = append(who[:shown], fmt.Sprintf("%d more", more))
	}
	return strings.Join(who, ", ")
}

// FailOn is an effect that prevents a change from being published.
type FailOn string

// The effects.
const (
	// FailOnWidened means that an agent, possibly a tenant's, may do or use more than before.
	FailOnWidened FailOn = "widened"
	// FailOnLost means that an agent, possibly a tenant's, loses a tool.
	FailOnLost FailOn = "lost"
)

// Change is a document to publish.
type Change struct {
	// Document declares everything that turns resolve to.
	Document []byte
	// Expected is the hash of the revision that the document is based on; empty for the first.
	Expected string
	// Author is the publisher, and Note the reason.
	Author, Note string
	// DryRun publishes nothing.
	DryRun bool
	// FailOn is the effect that prevents publishing; if empty, none does.
	FailOn FailOn
	// ExceptBroken publishes a base although some tenants' overlays do not resolve over it: these
	// tenants keep their current base.
	ExceptBroken bool
	// Progress is called with the number of tenant overlays proven over a base; it may be nil. It
	// must not block.
	Progress func(done, total int)
}

// checkEffect returns an error if a change with this effect must not be published. tenants is nil
// if the change affects none.
func (c *Change) checkEffect(diff *resolve.DiffReport, tenants *TenantsProof) error {
	widened, lost := diff.Widened, diff.Lost
	if tenants != nil {
		for i := range tenants.Changed {
			widened = widened || tenants.Changed[i].Diff.Widened
			lost = lost || tenants.Changed[i].Diff.Lost
		}
	}
	switch {
	case c.FailOn == FailOnWidened && widened:
		return &WidenedError{Diff: diff, Tenants: tenants}
	case c.FailOn == FailOnLost && lost:
		return &LostError{Diff: diff, Tenants: tenants}
	default:
		return nil
	}
}

// Proof is the result of the dry run of a change.
type Proof struct {
	// Hash is the hash of the canonical document.
	Hash string
	// Findings are warnings and notes.
	Findings diag.List
	// Diff is the effect of the change on each agent.
	Diff *resolve.DiffReport
}

// Published is the result of a change.
type Published struct {
	Proof

	// Number is the number of the revision; 0 for a dry run.
	Number uint64
	// Unchanged is set if the document was already current.
	Unchanged bool
	// Tenants is the result of proving the tenants' overlays over a base; nil without tenants.
	Tenants *TenantsProof

	// recorded is set once the store has the attempt.
	recorded bool
}

// Publisher proves documents and makes them current. It is safe for concurrent use.
type Publisher struct {
	*core
	builds  *Builds
	history *History

	// publishing is held while the runtime's revision is replaced. editable is the last revision
	// that this fleet gave the runtime, built from the document in file.
	publishing sync.Mutex
	editable   *registry.Revision
}

// Publish checks that every agent of a document resolves, judges any widened access, and makes
// the document current, first in the store and then here; other processes follow. It records
// every attempt except dry runs. The error is ErrFromFiles, an *InvalidError, a
// *config.PlainSecretError, a *WidenedError, a *BrokenTenantsError or a
// *store.RevisionConflictError.
func (p *Publisher) Publish(ctx context.Context, c *Change) (*Published, error) {
	if !p.settings.FromStore && !c.DryRun {
		return nil, ErrFromFiles
	}
	p.publishing.Lock()
	defer p.publishing.Unlock()
	out, err := p.publish(ctx, c)
	return p.endPublish(ctx, "", c, out, err)
}

// publish publishes a change incrementally, or builds the whole document if needed to describe its
// errors.
func (p *Publisher) publish(ctx context.Context, c *Change) (*Published, error) {
	current := p.settings.Runtime.AcquireRevision()
	defer current.Release()
	if made := p.buildEdit(current, c.Document); made != nil {
		out, err := p.publishBuilt(ctx, c, made)
		if _, invalid := errors.AsType[*InvalidError](err); !invalid {
			return out, err
		}
	}
	made, err := p.build(ctx, c.Document)
	if err != nil {
		return new(Published), err
	}
	made.builder.Adopt(current)
	return p.publishBuilt(ctx, c, made)
}

// publishBuilt publishes a built document, and closes its unused parts.
func (p *Publisher) publishBuilt(ctx context.Context, c *Change, made *built) (out *Published, err error) {
	out = new(Published)
	used := false
	defer func() {
		if !used {
			_ = made.builder.Close() // never used
		}
	}()
	document, err := made.file.Document()
	if err != nil {
		return out, err
	}
	out.Hash = config.HashDocument(document)
	if out.Unchanged, err = p.checkExpected(ctx, "", c, out.Hash); err != nil {
		return out, err
	}
	rev, err := p.prove(ctx, made, &out.Proof)
	if err != nil {
		return out, err
	}
	published, err := p.storeProven(ctx, &candidate{built: made, rev: rev, document: document}, c, out)
	if err != nil || published == nil {
		return out, err
	}
	out.Number, out.recorded = published.Number, true
	p.builds.noteChange()
	if p.Running().Hash != out.Hash {
		// The store has it now: from here on this process follows like any other.
		if err := p.swap(ctx, made, published); err != nil {
			p.fallBehind(published, err)
			p.tellFollower()
		} else {
			used = true
		}
	}
	p.settings.Notify()
	return out, nil
}

// checkExpected rejects a change that another publisher has overtaken, before more work is done. It
// reports whether the document is already current, as in a repeated request.
func (p *Publisher) checkExpected(ctx context.Context, tenant string, c *Change, hash string) (isCurrent bool, err error) {
	if c.DryRun && c.Expected == "" {
		return false, nil // it is based on none
	}
	known, err := p.settings.Store.CurrentHash(ctx, tenant)
	switch {
	case err != nil:
		return false, err
	case known == hash:
		return true, nil
	case known == c.Expected:
		return false, nil
	case known == "":
		return false, &store.RevisionConflictError{Expected: c.Expected}
	}
	current, err := p.settings.Store.CurrentRevision(ctx, tenant)
	if err != nil {
		return false, err
	}
	current.Document = nil
	return false, &store.RevisionConflictError{Expected: c.Expected, Current: current}
}

// prove resolves every agent, and compares it with its current state.
func (p *Publisher) prove(ctx context.Context, made *built, proof *Proof) (*registry.Revision, error) {
	rev, list := made.builder.Check(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	proof.Findings = p.placeFindings(made.file, made.file.Complete(nil, list))
	if proof.Findings.HasErrors() {
		return nil, &InvalidError{Findings: proof.Findings}
	}
	return rev, p.compare(ctx, rev, proof, made.file)
}

// candidate is a base that resolves but is not yet current.
type candidate struct {
	*built

	rev      *registry.Revision
	document []byte
}

// tenantTries is the maximum number of times that the tenants' overlays are proven if one of them
// changes meanwhile.
const tenantTries = 5

// storeProven proves the tenants' overlays over a base and makes it current in the store. For a dry
// run it only proves them and returns nil.
func (p *Publisher) storeProven(ctx context.Context, base *candidate, c *Change, out *Published) (published *Revision, err error) {
	findings, err := encodeFindings(out.Findings)
	if err != nil {
		return nil, err
	}
	for range tenantTries {
		var proven *store.ProvenOverlays
		if out.Tenants, proven, err = p.proveTenants(ctx, base, c); err != nil {
			return nil, err
		}
		if err := c.checkEffect(out.Diff, out.Tenants); err != nil {
			return nil, err
		}
		if c.DryRun {
			return nil, nil //nolint:nilnil // nothing is published
		}
		if out.Tenants != nil && len(out.Tenants.Broken) > 0 && !c.ExceptBroken {
			return nil, &BrokenTenantsError{Broken: out.Tenants.Broken}
		}
		published, err = p.settings.Store.PublishRevision(ctx, &store.PublishRevision{
			Revision: store.Revision{
				Hash: out.Hash, Document: base.document, Author: c.Author, Note: c.Note, Findings: findings, CreatedAt: p.settings.Clock(),
			},
			Expected: c.Expected, Proven: proven, Attempt: p.newAttempt("", c, out.Hash, findings),
		})
		if !errors.Is(err, store.ErrOverlaysChanged) {
			break
		}
	}
	return published, err
}

func (p *Publisher) compare(ctx context.Context, rev *registry.Revision, proof *Proof, file *config.File) error {
	current := p.settings.Runtime.AcquireRevision()
	defer current.Release()
	diffs, err := resolve.Diff(ctx, current, rev)
	if err != nil {
		return err
	}
	proof.Diff = redactDiff(resolve.NewDiffReport(diffs), p.redactors(file))
	p.mu.Lock()
	running := p.file
	p.mu.Unlock()
	if running == nil {
		return nil
	}
	before, after, err := config.ComparedParts(running, file)
	if err != nil {
		return err
	}
	return proof.Diff.AddEntries(before, after)
}

// redactDiff hides the values of variables in a report.
func redactDiff(r *resolve.DiffReport, redact func(string) string) *resolve.DiffReport {
	for i := range r.Agents {
		for j := range r.Agents[i].Changes {
			c := &r.Agents[i].Changes[j]
			c.Old, c.New, c.Reason = redact(c.Old), redact(c.New), redact(c.Reason)
		}
	}
	return r
}

// swap makes the built revision the current revision of the runtime, which then owns it.
func (p *Publisher) swap(ctx context.Context, made *built, published *store.Revision) error {
	rev, err := made.builder.Publish(ctx, p.settings.Runtime)
	if err != nil {
		return err
	}
	p.builds.setFile(made.file)
	p.editable = rev
	p.setRunning(Running{Number: published.Number, Hash: published.Hash})
	p.builds.noteChange()
	p.settings.Logger.Info("revision published", zap.Uint64("number", published.Number), zap.String("document", published.Hash),
		zap.Uint64("revision", rev.Number()), zap.String("author", published.Author))
	return nil
}

// newAttempt returns the record of a change.
func (p *Publisher) newAttempt(tenant string, c *Change, hash string, findings []byte) *store.RevisionAttempt {
	return &store.RevisionAttempt{
		Tenant: tenant, Hash: hash, Expected: c.Expected, Author: c.Author, Note: c.Note, Findings: findings, At: p.settings.Clock(),
	}
}

// endPublish returns the result of a change, after recording an attempt that the store does not have.
func (p *Publisher) endPublish(ctx context.Context, tenant string, c *Change, out *Published, err error) (*Published, error) {
	if !c.DryRun && !out.recorded && ctx.Err() == nil {
		err = errors.Join(err, p.addAttempt(ctx, tenant, c, out, err))
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// addAttempt records the result of a change that was not stored.
func (p *Publisher) addAttempt(ctx context.Context, tenant string, c *Change, out *Published, err error) error {
	a := p.newAttempt(tenant, c, out.Hash, nil)
	findings := out.Findings
	a.Outcome = store.RevisionRefused
	switch {
	case errors.As(err, new(*store.RevisionConflictError)):
		a.Outcome = store.RevisionConflicted
	case err != nil:
		if invalid, ok := errors.AsType[*InvalidError](err); ok {
			findings = invalid.Findings
		}
	}
	var encodeErr error
	if a.Findings, encodeErr = encodeFindings(findings); encodeErr != nil {
		return encodeErr
	}
	if addErr := p.settings.Store.AddRevisionAttempt(ctx, *a); addErr != nil {
		return fmt.Errorf("record the attempt to publish: %w", addErr)
	}
	return nil
}

func encodeFindings(list diag.List) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return json.Marshal(list)
}
