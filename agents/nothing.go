package agents

import (
	"context"
	"iter"

	"github.com/agentruntime/agentruntime/model"
)

// nothing is the provider of agents that have no model.
type nothing struct{}

var _ model.Executor = nothing{}

// Vendor returns "".
func (nothing) Vendor() string { return "" }

// Stream fails.
func (nothing) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: errNoModel.Error()})
	}
}
