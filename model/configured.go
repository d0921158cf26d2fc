package model

import (
	"context"
	"iter"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// ParamChecker is implemented by executors that know which parameters their vendor accepts.
type ParamChecker interface {
	// CheckParams returns the parameters that requests for a model, by its vendor's name, cannot
	// have.
	CheckParams(model string, p *Params) []ParamFault
}

// ParamFault is a parameter that a vendor does not accept.
type ParamFault struct {
	Name string
	// Reason follows the name, as in "is 2; at most 1 is allowed"; empty if the vendor has no
	// such parameter.
	Reason string
	// Omitted reports that requests are sent without it.
	Omitted bool
}

// EditChecker is implemented by executors that know the fields of their requests.
type EditChecker interface {
	// CheckEdits returns diagnostics for paths that edits omit although requests for a model, by its
	// vendor's name, never have them. Earlier edits may set further fields. Paths are relative to the
	// edits.
	CheckEdits(model string, edits *spec.RequestEdits, earlier ...*spec.RequestEdits) diag.List
}

// MissingParams returns the faults for the named parameters that p sets, for a vendor without them.
func (p *Params) MissingParams(names ...string) []ParamFault {
	var faults []ParamFault
	for _, name := range p.SetAmong(names...) {
		faults = append(faults, ParamFault{Name: name})
	}
	return faults
}

// Thinks reports whether a reasoning effort is set that is neither off nor a tenant's.
func (p *Params) Thinks() bool {
	e := p.ReasoningEffort
	return e != nil && e.Variable == "" && e.Standard() != "off"
}

// Configured is an executor with a model's settings, which a request's settings override.
type Configured struct {
	Executor Executor
	Params   Params
	Edits    *spec.RequestEdits
	KeepTags bool
}

var _ Executor = (*Configured)(nil)

// Stream calls the model with its settings.
func (c *Configured) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	own := *req
	own.Params = c.Params.Merge(req.Params)
	own.Edits = c.Edits.Merge(req.Edits)
	own.KeepTags = c.KeepTags || req.KeepTags
	return c.Executor.Stream(ctx, &own)
}

// OptionParams returns the parameters set in the settings of a model or agent.
func OptionParams(s *spec.ModelOptions) Params {
	return Params{
		Temperature: s.Temperature, TopP: s.TopP, Seed: s.Seed, Stop: s.Stop, ServiceTier: s.ServiceTier, Verbosity: s.Verbosity,
	}
}
