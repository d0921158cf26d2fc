package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
)

// entryRequest is the new form of an entry.
type entryRequest struct {
	Value json.RawMessage `json:"value"`
	// Note says why.
	Note string `json:"note,omitempty"`
}

// publishRequest is a document to publish.
type publishRequest struct {
	Document json.RawMessage `json:"document"`
	Note     string          `json:"note,omitempty"`
}

// noteRequest says why something is done.
type noteRequest struct {
	Note string `json:"note,omitempty"`
}

// Published is the result of a change.
type Published struct {
	// Number is 0 for a dry run, and Unchanged is set if the document was already current.
	Number    uint64              `json:"number"`
	Hash      string              `json:"hash"`
	DryRun    bool                `json:"dry_run"`
	Unchanged bool                `json:"unchanged"`
	Findings  []diag.Diagnostic   `json:"findings"`
	Diff      *resolve.DiffReport `json:"diff,omitempty"`
	// Tenants is the result for tenants' overlays over a new base.
	Tenants *TenantsProof `json:"tenants,omitempty"`
}

// ETag returns the hash of the current revision; empty for a dry run.
func (p *Published) ETag() string {
	if p.DryRun {
		return ""
	}
	return p.Hash
}

func publishedOf(p *fleet.Published, dry bool) *Published {
	return &Published{Number: p.Number, Hash: p.Hash, DryRun: dry, Unchanged: p.Unchanged, Findings: append([]diag.Diagnostic{}, p.Findings...), Diff: p.Diff, Tenants: tenantsProofOf(p.Tenants)}
}

// noRevision is the If-Match of a request that publishes the first revision.
const noRevision = "none"

// changeQueryNames are the parameters that changeOf reads.
var changeQueryNames = []string{"dry_run", "fail_on", "tenants"}

// changeOf reads how to publish a change from a request.
func changeOf(caller service.Caller, r *http.Request, note string) (*fleet.Change, error) {
	c := &fleet.Change{Author: caller.Tenant + "/" + caller.Subject, Note: note}
	match := strings.Trim(strings.TrimPrefix(r.Header.Get("If-Match"), "W/"), `"`)
	if match == "" {
		return nil, &service.InvalidError{Field: "If-Match", Problem: "is required: the hash of the revision that you change, or " + noRevision}
	}
	if match != noRevision {
		c.Expected = match
	}
	query := r.URL.Query()
	for _, name := range changeQueryNames {
		if query.Has(name) && query.Get(name) == "" { // "?dry_run" must not publish
			return nil, &service.InvalidError{Field: name, Problem: "has no value"}
		}
	}
	switch query.Get("dry_run") {
	case "", "false":
	case "true":
		c.DryRun = true
	default:
		return nil, &service.InvalidError{Field: "dry_run", Problem: "must be true or false"}
	}
	switch c.FailOn = fleet.FailOn(query.Get("fail_on")); c.FailOn {
	case "", fleet.FailOnWidened, fleet.FailOnLost:
	default:
		return nil, &service.InvalidError{Field: "fail_on", Problem: "must be widened or lost"}
	}
	switch query.Get("tenants") {
	case "", "all":
	case "except-broken":
		c.ExceptBroken = true
	default:
		return nil, &service.InvalidError{Field: "tenants", Problem: "must be all or except-broken"}
	}
	return c, nil
}

// checkWhole rejects callers that are limited to some agents, because their changes could affect
// others.
func checkWhole(caller service.Caller) error {
	if caller.Agents != nil {
		return &service.InvalidError{Field: "credential", Problem: "may use some agents only, and the change may concern others"}
	}
	return nil
}

func (e entries) put(ctx context.Context, caller service.Caller, r *http.Request, in entryRequest, report func(done, total int)) (*Published, error) {
	if len(in.Value) == 0 || in.Value[0] != '{' {
		return nil, &service.InvalidError{Field: "value", Problem: "must be an object"}
	}
	return e.change(ctx, caller, r, &in, report)
}

func (e entries) remove(ctx context.Context, caller service.Caller, r *http.Request, _ none, report func(done, total int)) (*Published, error) {
	return e.change(ctx, caller, r, new(entryRequest), report)
}

// publish publishes a change as a request says.
func publish(caller service.Caller, r *http.Request, note string, report func(done, total int), publish func(*fleet.Change) (*fleet.Published, error)) (*Published, error) {
	c, err := changeOf(caller, r, note)
	if err != nil {
		return nil, err
	}
	c.Progress = report
	out, err := publish(c)
	if err != nil {
		return nil, refuse(err)
	}
	return publishedOf(out, c.DryRun), nil
}

// change publishes the revision that a request names with one entry changed; without a value the
// entry is removed.
func (e entries) change(ctx context.Context, caller service.Caller, r *http.Request, in *entryRequest, report func(done, total int)) (*Published, error) {
	if err := checkWhole(caller); err != nil {
		return nil, err
	}
	return publish(caller, r, in.Note, report, func(c *fleet.Change) (*fleet.Published, error) {
		return e.fleet.PublishEntry(ctx, &fleet.EntryChange{Registry: e.registry, ID: r.PathValue("id"), Value: in.Value, Change: *c})
	})
}

func (s *Surface) publishDocument(ctx context.Context, caller service.Caller, r *http.Request, in publishRequest, report func(done, total int)) (*Published, error) {
	if len(in.Document) == 0 || in.Document[0] != '{' {
		return nil, &service.InvalidError{Field: "document", Problem: "must be an object"}
	}
	if err := checkWhole(caller); err != nil {
		return nil, err
	}
	return publish(caller, r, in.Note, report, func(c *fleet.Change) (*fleet.Published, error) {
		of, err := s.configurationOf(caller, r)
		if err != nil {
			return nil, err
		}
		c.Document = in.Document
		return of.Publish(ctx, c)
	})
}

func (s *Surface) rollBack(ctx context.Context, caller service.Caller, r *http.Request, in noteRequest, report func(done, total int)) (*Published, error) {
	if err := checkWhole(caller); err != nil {
		return nil, err
	}
	return publish(caller, r, in.Note, report, func(c *fleet.Change) (*fleet.Published, error) {
		of, err := s.configurationOf(caller, r)
		if err != nil {
			return nil, err
		}
		return of.Rollback(ctx, r.PathValue("hash"), c)
	})
}
