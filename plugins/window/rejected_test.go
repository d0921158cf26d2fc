package window_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/window"
	"github.com/agentruntime/agentruntime/spec"
)

func TestARejectedRequestIsDescribed(t *testing.T) {
	const allows, exceeds = "context_policy allows 3000: lower context_policy.max_context_tokens", "exceeds the limit of context_policy by about"
	policy := &spec.ContextPolicy{MaxContextTokens: new(4000), MaxOutputTokens: new(1000)}
	image := model.Message{Role: model.RoleUser, Parts: []model.Part{{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", Data: []byte("x")}}}}
	tool := model.Tool{Name: "x", Description: words(900)}
	for name, tt := range map[string]struct {
		policy  *spec.ContextPolicy
		whole   []model.Message // nil if it is the request
		sent    []model.Message
		tools   []model.Tool
		want    []string
		without string
	}{
		"no policy":           {nil, nil, []model.Message{model.User(words(500))}, nil, []string{"the request has about 504 tokens, 500 of them in a message of the user", "set context_policy of the agent"}, "shortened from"},
		"shortened":           {policy, []model.Message{model.User(words(9000))}, []model.Message{model.User(words(500))}, nil, []string{"shortened from about 9004", allows}, exceeds},
		"a long result":       {policy, nil, []model.Message{model.User("hi"), calling("c1"), result("c1", words(3500))}, nil, []string{"3509 of them in a result of the tool x", exceeds, "shorten a result of the tool x"}, allows},
		"long instructions":   {policy, nil, []model.Message{model.System(words(3500)), model.User("hi")}, nil, []string{"3500 of them in the instructions", exceeds}, allows},
		"many tools":          {policy, nil, []model.Message{model.User("hi")}, []model.Tool{tool, tool}, []string{"in the declarations of 2 tools", allows}, exceeds},
		"a long answer":       {policy, nil, []model.Message{model.User("hi"), model.Assistant(words(100))}, nil, []string{"100 of them in an answer of the model"}, exceeds},
		"an image":            {policy, nil, []model.Message{image, model.User("hi")}, nil, []string{"1600 of them in an image or file"}, exceeds},
		"calls of no results": {policy, nil, []model.Message{calling("c1")}, nil, []string{"in a call of the tool x"}, exceeds},
		"an empty request":    {policy, nil, nil, nil, []string{"the request has about 0 tokens"}, exceeds},
	} {
		if tt.whole == nil {
			tt.whole = tt.sent
		}
		got := window.DescribeRejected(tt.policy, tt.whole, &model.Request{Messages: tt.sent, Tools: tt.tools})
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s; want %q", name, got, want)
			}
		}
		if tt.without != "" && strings.Contains(got, tt.without) {
			t.Errorf("%s: %s; it has %q", name, got, tt.without)
		}
	}
}
