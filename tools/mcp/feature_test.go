package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// thinker is a host whose model knows a capital.
type thinker struct {
	host
	asked []*model.Request
	err   error
}

// Sample answers.
func (h *thinker) Sample(_ context.Context, req *model.Request) (*tools.Sampled, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, req)
	return &tools.Sampled{Text: "Paris", Model: "demo", Reason: model.FinishMaxTokens}, h.err
}

func TestResourcesAndPromptsAreTools(t *testing.T) {
	t.Parallel()
	askingServers(t, []string{featureResources, featurePrompts}, func(t *testing.T, s *server) {
		for _, tt := range []struct{ tool, arguments, want string }{
			{"resources", `{"action":"list"}`, `{"uri":"doc://a","name":"a","description":"The first.","mime_type":"text/plain"}` + "\n"},
			{"resources", `{"action":"templates"}`, `{"uri_template":"doc://{id}/page","name":"page"}` + "\n"},
			{"resources", `{"action":"read","uri":"doc://a"}`, "[resource doc://a, text/plain]\ncontent of a"},
			{"prompts", `{"action":"list"}`, `{"name":"review","description":"Reviews.","arguments":[{"name":"what","required":true}]}` + "\n"},
			{"prompts", `{"action":"get","name":"review","arguments":{"what":"it"}}`, "[user]Review it"},
		} {
			if got := succeed(t, s, tt.tool, tt.arguments); strings.ReplaceAll(got, "[user]\n", "[user]") != tt.want {
				t.Errorf("%s %s says %q", tt.tool, tt.arguments, got)
			}
		}
		r := call(t.Context(), t, s, "resources", `{"action":"read","uri":"doc://7/page"}`)
		if n := len(r.Content); n != 2 || r.Content[1].Type != model.PartImage {
			t.Errorf("the image is %+v", r.Content)
		}
		for tool, arguments := range map[string]string{"resources": `{"action":"read"}`, "prompts": `{"action":"get"}`} {
			if r := call(t.Context(), t, s, tool, arguments); !r.IsError || !strings.Contains(model.PartsText(r.Content), "is required") {
				t.Errorf("%s %s says %+v", tool, arguments, r)
			}
		}
		if r := call(t.Context(), t, s, "resources", `{"action":"read","uri":"doc://none"}`); !r.IsError {
			t.Errorf("a resource that does not exist is %+v", r)
		}
	})
}

func TestResourcesAndPromptsMustBeAllowedAndOffered(t *testing.T) {
	t.Parallel()
	for _, features := range [][]string{nil, {}, {featureSampling}} {
		c := local(t, "asking")
		c.Features = features
		if got := memberIDs(ready(t, c)); strings.Contains(got, "resources") || strings.Contains(got, "prompts") {
			t.Errorf("%q: the tools are %s", features, got)
		}
	}
	c := local(t, lists("resources", "Something else."))
	c.Features = []string{featureResources, featurePrompts}
	if got := memberIDs(ready(t, c)); got != "mcp__fake__resources" {
		t.Errorf("the tools of a server without resources are %s", got)
	}
	c = local(t, strings.Replace(lists("resources", "Something else."), "tools/list", `initialize {"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"x","version":"1"}}`+"\ntools/list", 1))
	c.Features = []string{featureResources}
	if _, found := ready(t, c).Members(); codes(found) != "error[tool-id-conflict]" {
		t.Errorf("a tool that is called like the one of resources: %v", found)
	}
	if list := (&config{Command: []string{"x"}, Features: []string{"everything"}}).Validate(); codes(list) != "error[invalid-value]" {
		t.Errorf("an unknown feature: %v", list)
	}
}

func TestServersAskTheModelOfTheAgent(t *testing.T) {
	t.Parallel()
	askingServers(t, []string{featureSampling}, func(t *testing.T, s *server) {
		h := new(thinker)
		r := callAs(t, s, h, "think", `{}`, nil)
		var got struct {
			Model, StopReason string
			Content           struct{ Text string }
		}
		if err := json.Unmarshal([]byte(model.PartsText(r.Content)), &got); err != nil || got.Model != "demo" || got.StopReason != "maxTokens" || got.Content.Text != "Paris" {
			t.Fatalf("the server got %s: %v", model.PartsText(r.Content), err)
		}
		if len(h.asked) != 1 || h.asked[0].MaxOutputTokens != 7 || len(h.asked[0].Messages) != 2 || h.asked[0].Messages[1].Text() != "Capital of France?" {
			t.Errorf("the model was asked %+v", h.asked)
		}
		h.err = errors.New("the budget is used up")
		if r := callAs(t, s, h, "think", `{}`, nil); !r.IsError || !strings.Contains(model.PartsText(r.Content), "the budget is used up") {
			t.Errorf("without a budget: %+v", r)
		}
	})
}

func TestSamplingMustBeAllowed(t *testing.T) {
	t.Parallel()
	askingServers(t, nil, func(t *testing.T, s *server) {
		h := new(thinker)
		if r := callAs(t, s, h, "think", `{}`, nil); !r.IsError || len(h.asked) > 0 {
			t.Errorf("the model was asked %d times: %+v", len(h.asked), r)
		}
	})
}

func TestProgramsLearnTheWorkspace(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"asking", "asking in sessions"} {
		for _, features := range [][]string{{featureRoots}, nil} {
			c := local(t, era)
			c.Features = features
			s := ready(t, c)
			w, dir := space(t)
			r := entries(t, s)["mcp__fake__where"].Execute(t.Context(), &tools.Call{ID: "call_1", Arguments: []byte(`{}`), Host: new(host), Workspace: w})
			text := model.PartsText(r.Content)
			if features != nil && !strings.Contains(text, `"uri":"file://`+filepath.ToSlash(dir)+`"`) || features == nil && strings.Contains(text, "file://") {
				t.Errorf("%s, %q: the server learns %s", era, features, text)
			}
		}
	}
}

func TestLogMessagesAreShownAtTheirCall(t *testing.T) {
	t.Parallel()
	askingServers(t, nil, func(t *testing.T, s *server) {
		// A server sends messages of the level only after it was told the level.
		soon(t, "the message is shown", func() bool {
			h := new(host)
			callAs(t, s, h, "log", `{}`, nil)
			return strings.Join(h.kept(), "") == "[warning] disk is full\n"
		})
	})
}
