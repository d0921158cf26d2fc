package model_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

func TestTheTextOfAnError(t *testing.T) {
	for want, e := range map[string]*model.Error{
		"timeout":                             {Class: model.Timeout},
		"provider: broken":                    {Class: model.Provider, Message: "broken"},
		"provider p: rate_limited (HTTP 429)": {Class: model.RateLimited, Provider: "p", Status: 429},
		"provider p: unauthorized (HTTP 401): no such key": {Class: model.Unauthorized, Provider: "p", Status: 401, Message: "no such key"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("the text is %q, want %q", got, want)
		}
	}
}

func TestEveryErrorHasAClass(t *testing.T) {
	own := &model.Error{Class: model.ContentFiltered}
	for _, tt := range []struct {
		err  error
		want model.ErrorClass
	}{
		{own, model.ContentFiltered},
		{fmt.Errorf("ask: %w", own), model.ContentFiltered},
		{context.Canceled, model.Canceled},
		{fmt.Errorf("dial: %w", context.DeadlineExceeded), model.Timeout},
		{errors.New("reset by peer"), model.Provider},
	} {
		got := model.AsError(tt.err)
		if got.Class != tt.want || got.Class != model.ContentFiltered && !errors.Is(got, tt.err) {
			t.Errorf("%v became %v", tt.err, got)
		}
	}
}

func TestParamsAreMergedFieldByField(t *testing.T) {
	low, high := &spec.Effort{Level: "low"}, &spec.Effort{Level: "high"}
	base := model.Params{Temperature: new(0.5), TopP: new(0.9), MaxOutputTokens: 10, ReasoningEffort: low}
	for _, tt := range []struct{ over, want model.Params }{
		{model.Params{}, base},
		{model.Params{Temperature: new(0.0)}, model.Params{Temperature: new(0.0), TopP: new(0.9), MaxOutputTokens: 10, ReasoningEffort: low}},
		{model.Params{TopP: new(0.1), MaxOutputTokens: 20, ReasoningEffort: high},
			model.Params{Temperature: new(0.5), TopP: new(0.1), MaxOutputTokens: 20, ReasoningEffort: high}},
	} {
		if diff := cmp.Diff(tt.want, base.Merge(tt.over)); diff != "" {
			t.Error(diff)
		}
	}
}
