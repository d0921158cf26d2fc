package scripted_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
)

// TestChoose walks through conversations: each step is what is said to the
// model and what it must answer.
func TestChoose(t *testing.T) {
	t.Parallel()
	user, tool := model.User, result
	type step struct {
		said []model.Message
		want string
	}
	broken := func(text string, times int) scripted.Reply {
		return scripted.Reply{Text: text, Error: &scripted.Failure{Class: model.StreamInterrupted, AfterChunks: 1, Times: times}}
	}
	cut := func(text string) scripted.Reply {
		return scripted.Reply{Text: text, FinishReason: model.FinishMaxTokens}
	}
	call := scripted.Reply{Text: "call", ToolCalls: []model.ToolCall{callOf("wc", "{}")}}
	for name, tt := range map[string]struct {
		replies  []scripted.Reply
		fallback *scripted.Reply
		steps    []step
	}{
		"in order, then the echo": {
			replies: []scripted.Reply{call, {Text: "two"}},
			steps: []step{
				{[]model.Message{user("go")}, "call"}, {[]model.Message{tool("r")}, "two"},
				{[]model.Message{tool("r")}, "echo: go"},
			},
		},
		"then the fallback": {
			replies: []scripted.Reply{call}, fallback: &scripted.Reply{Text: "no more"},
			steps: []step{
				{[]model.Message{user("go")}, "call"}, {[]model.Message{tool("r")}, "no more"}, {[]model.Message{tool("r")}, "no more"},
			},
		},
		"a user message begins anew": {
			replies: []scripted.Reply{{Text: "one"}, {Text: "two"}},
			steps: []step{
				{[]model.Message{model.System("s"), user("go")}, "one"}, {[]model.Message{user("again")}, "one"},
				{[]model.Message{user("and"), user("again")}, "one"},
			},
		},
		"match takes the first that fits": {
			replies: []scripted.Reply{
				{Match: "sunny", Text: "nice"}, {Match: "/(?i)WEATHER in \\w+/", Text: "call", ToolCalls: call.ToolCalls}, {Text: "any"},
			},
			steps: []step{
				{[]model.Message{user("the weather in Paris?")}, "call"}, {[]model.Message{tool("it is sunny")}, "nice"},
				{[]model.Message{tool("it is sunny")}, "any"}, {[]model.Message{tool("it is sunny")}, "echo: the weather in Paris?"},
				{[]model.Message{user("sunny?")}, "nice"},
			},
		},
		"match sees all results": {
			replies: []scripted.Reply{{Match: "second", Text: "seen"}},
			steps: []step{{[]model.Message{user("go"), {Role: model.RoleTool, Parts: append(tool("first").Parts, tool("second").Parts...)}},
				"seen"}},
		},
		"failures are passed over": {
			replies: []scripted.Reply{{Error: &scripted.Failure{Class: model.Provider, Times: 2}}, call, {Error: &scripted.Failure{Class: model.Provider}}, {Text: "end"}},
			steps: []step{
				{[]model.Message{user("go")}, "provider"}, {nil, "provider"}, {nil, "call"},
				{[]model.Message{tool("r")}, "provider"}, {nil, "end"},
			},
		},
		"cut off by the output limit": {
			replies: []scripted.Reply{cut("part one"), cut(" part two"), {Text: " end"}},
			steps: []step{
				{[]model.Message{user("go")}, "part one"}, {[]model.Message{user("continue")}, " part two"},
				{[]model.Message{user("continue")}, " end"}, {[]model.Message{user("something else")}, "part one"},
			},
		},
		"cut off, joined": {
			replies: []scripted.Reply{cut("part one"), cut(" part two"), {Text: "end"}},
			steps: []step{
				{[]model.Message{user("go"), model.Assistant("part one part two"), user("continue")}, "end"},
			},
		},
		"cut off, joined with its end": {
			replies: []scripted.Reply{cut("part one"), {Text: " end", ToolCalls: call.ToolCalls}, {Text: "next"}},
			steps: []step{
				{[]model.Message{user("go"), model.Assistant("part one end"), tool("r")}, "next"},
			},
		},
		"interrupted and continued": {
			replies: []scripted.Reply{broken("It is", 2), {Text: " sunny"}},
			steps: []step{
				{[]model.Message{user("go")}, "stream_interrupted"},
				{[]model.Message{model.Assistant("It is"), user("continue")}, "stream_interrupted"},
				{[]model.Message{model.Assistant("It is"), user("continue")}, " sunny"},
				{[]model.Message{user("go")}, "stream_interrupted"},
			},
		},
		"interrupted, continued and joined": {
			replies: []scripted.Reply{broken("It is", 2), {Text: " sunny", ToolCalls: call.ToolCalls}, {Text: "end"}},
			steps: []step{
				{[]model.Message{user("go"), model.Assistant("It isIt is"), user("continue")}, " sunny"},
				{[]model.Message{tool("r")}, "end"},
			},
		},
		"interrupted and asked again": {
			replies: []scripted.Reply{broken("It is", 1), {Text: "It is sunny", ToolCalls: call.ToolCalls}, {Text: "end"}},
			steps: []step{
				{[]model.Message{user("go")}, "stream_interrupted"}, {nil, "It is sunny"}, {[]model.Message{tool("r")}, "end"},
			},
		},
		"an empty answer that was cut off": {
			replies: []scripted.Reply{cut(""), {Text: "end"}},
			steps:   []step{{[]model.Message{user("go")}, ""}, {[]model.Message{user("continue")}, "end"}},
		},
		"a failing fallback": {
			replies: []scripted.Reply{{Match: "x", Text: "x"}}, fallback: &scripted.Reply{Error: &scripted.Failure{Class: model.Timeout}},
			steps: []step{{[]model.Message{user("go")}, "timeout"}, {nil, "timeout"}, {[]model.Message{user("x")}, "x"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExecutor(t, scripted.Script{Replies: tt.replies, Fallback: tt.fallback})
			var messages []model.Message
			for i, s := range tt.steps {
				messages = append(messages, s.said...)
				a, err := ask(t, e, messages...)
				got := a.Text()
				if err != nil {
					got = string(model.AsError(err).Class)
				} else {
					messages = append(messages, a.Message())
				}
				if got != s.want {
					t.Fatalf("step %d: got %q, want %q", i, got, s.want)
				}
			}
		})
	}
}

// TestAnotherProcess proves that a run goes on in an executor that knows
// nothing of its beginning.
func TestAnotherProcess(t *testing.T) {
	t.Parallel()
	var script scripted.Script
	for i := range 300 {
		script.Replies = append(script.Replies, scripted.Reply{Match: "go", Text: strconv.Itoa(i)})
	}
	messages := []model.Message{model.User("go")}
	for i := range 5 {
		a, err := ask(t, newExecutor(t, script), messages...)
		if err != nil || a.Text() != strconv.Itoa(i) {
			t.Fatalf("step %d: got %q, %v", i, a.Text(), err)
		}
		messages = append(messages, a.Message(), result("go on"))
	}
}

// TestFailuresAreForgotten proves that memory stays bounded when runs fail and
// are never taken up again.
func TestFailuresAreForgotten(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{
		{Error: &scripted.Failure{Class: model.Provider, Times: 2}}, {Text: "done"},
	}})
	request := func(session string) string {
		a, err := collect(t, e.Stream(t.Context(), &model.Request{SessionID: session, Messages: []model.Message{model.User("go")}}))
		if err != nil {
			return "failed"
		}
		return a.Text()
	}
	request("first")
	request("first")
	for i := range 10_000 {
		request(fmt.Sprint("other ", i))
	}
	got := strings.Join([]string{request("first"), request("first"), request("first")}, " ")
	if got != "failed failed done" {
		t.Errorf("the first run went %q", got)
	}
}
