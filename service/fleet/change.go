package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
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

// FailOn is an effect that prevents a change from being published.
type FailOn string

// The effects.
const (
	// FailOnWidened means that an agent, possibly a tenant's, may do or use more than before.
	FailOnWidened FailOn = "widened"
	// FailOnLost means that an agent, possibly a tenant's, loses a tool.
	FailOnLost FailOn = "lost"
)

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
		return &EffectError{FailOnWidened, diff, tenants}
	case c.FailOn == FailOnLost && lost:
		return &EffectError{FailOnLost, diff, tenants}
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

// EffectError reports a change that was rejected for its effect.
type EffectError struct {
	Effect FailOn
	Diff   *resolve.DiffReport
	// Tenants are the effects of a new base on tenants; nil without tenants.
	Tenants *TenantsProof
}

// Error names the agents, with the tools that they lose, and the tenants.
func (e *EffectError) Error() string {
	if e.Effect == FailOnLost {
		return "the change takes tools away from " + listAffected(e.Diff, e.Tenants, func(d *resolve.AgentDiff) string {
			if len(d.Lost()) == 0 {
				return ""
			}
			return fmt.Sprintf("agent %s (%s)", d.Agent, strings.Join(d.Lost(), ", "))
		})
	}
	return "the change widens access for " + listAffected(e.Diff, e.Tenants, func(d *resolve.AgentDiff) string {
		if !d.Widened() {
			return ""
		}
		return "agent " + d.Agent
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

// publisher publishes changes of one lineage.
type publisher func(context.Context, *Change) (*Published, error)

// rollBack publishes an earlier revision again, with a default note.
func (l *lineage) rollBack(ctx context.Context, hash string, c *Change, publish publisher) (*Published, error) {
	r, err := l.Revision(ctx, hash)
	if err != nil {
		return nil, err
	}
	change := *c
	change.Document = r.Document
	change.Note = cmp.Or(c.Note, fmt.Sprintf("rollback to revision %d", r.Number))
	return publish(ctx, &change)
}

// dryRun publishes a document without storing it.
func dryRun(ctx context.Context, document []byte, publish publisher) (diag.List, *resolve.DiffReport, error) {
	out, err := publish(ctx, &Change{Document: document, DryRun: true})
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		return invalid.Findings, nil, nil
	}
	if plain, ok := errors.AsType[*config.PlainSecretError](err); ok {
		return plain.Findings(), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return out.Findings, out.Diff, nil
}

func encodeFindings(list diag.List) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return json.Marshal(list)
}
