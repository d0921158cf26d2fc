package main

import (
	"context"
	"iter"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// cannedConfig is a provider of type canned in a configuration.
type cannedConfig struct {
	Answer string `json:"answer" doc:"What its models say, whatever they are asked."`
}

// cannedKind is the provider type canned.
func cannedKind() model.ProviderKind {
	return spec.NewKind("canned", "Gives one answer to everything.",
		func(_ model.Settings, c *cannedConfig) (model.Executor, error) { return canned{c.Answer}, nil })
}

// canned is a model.Executor. It keeps nothing between calls.
type canned struct{ answer string }

// Stream answers.
func (c canned) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		_ = yield(model.Event{Type: model.EventText, Delta: c.answer}, nil) &&
			yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop, Usage: &model.Usage{}}, nil)
	}
}
