package model

import (
	"context"
	"iter"

	"github.com/agentruntime/agentruntime/spec"
)

// ParamChecker is implemented by executors that know which parameters their vendor takes.
type ParamChecker interface {
	// UnsupportedParams returns the names of the parameters that are set and that requests
	// for the vendor cannot have.
	UnsupportedParams(p Params) []string
}

// Configured is an executor with the settings of a model, over which those of a request win.
type Configured struct {
	Executor Executor
	Params   Params
	Edits    *spec.RequestEdits
}

var _ Executor = (*Configured)(nil)

// Stream asks the model with its settings.
func (c *Configured) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	own := *req
	own.Params = c.Params.Merge(req.Params)
	own.Edits = c.Edits.Merge(req.Edits)
	return c.Executor.Stream(ctx, &own)
}

// OptionParams returns the parameters that the settings of a model or an agent give.
func OptionParams(s *spec.ModelOptions) Params {
	return Params{
		Temperature: s.Temperature, TopP: s.TopP, Seed: s.Seed, Stop: s.Stop, ServiceTier: s.ServiceTier, Verbosity: s.Verbosity,
	}
}

// SetAmong returns those of the names, which are names of parameters, that p sets.
func (p *Params) SetAmong(names ...string) []string {
	var set []string
	for _, name := range names {
		var is bool
		switch name {
		case "temperature":
			is = p.Temperature != nil
		case "top_p":
			is = p.TopP != nil
		case "seed":
			is = p.Seed != nil
		case "stop":
			is = len(p.Stop) > 0
		case "service_tier":
			is = p.ServiceTier != ""
		case "verbosity":
			is = p.Verbosity != ""
		}
		if is {
			set = append(set, name)
		}
	}
	return set
}
