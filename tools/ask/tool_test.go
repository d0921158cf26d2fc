package ask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/ask"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// entryOf compiles a tool as a revision does.
func entryOf(t *testing.T, c ask.Config) *toolset.Entry {
	t.Helper()
	made, err := ask.Kind().Create(tools.Settings{ID: "q"}, &c)
	if err != nil {
		t.Fatal(err)
	}
	entry, list := toolset.Compile("q", made, toolset.Source{Kind: toolset.SourceGlobal})
	if list.HasErrors() {
		t.Fatal(list)
	}
	return entry
}

func TestACallIsAQuestion(t *testing.T) {
	t.Parallel()
	budget := json.RawMessage(`{"type":"object","properties":{"amount":{"type":"integer"},"why":{"type":"string"}},"required":["amount"]}`)
	for _, tt := range []struct {
		name      string
		config    ask.Config
		arguments string
		message   string
		action    string
		good, bad []string // answers in words
	}{
		{"free", ask.Config{}, `{"question":"Where to?"}`, "Where to?", tools.ActionAsk, []string{"Paris", "42", "yes"}, []string{"", " "}},
		{"choices of the model", ask.Config{}, `{"question":"Which?","choices":["Left","Right"]}`, "Which?\nChoices: Left | Right", tools.ActionAsk, []string{"Left", "right"}, []string{"up", "1"}},
		{"choices", ask.Config{Choices: []string{"1", "yes", "no"}}, `{"question":"Which?"}`, "Which?\nChoices: 1 | yes | no", tools.ActionAsk, []string{"1", "YES"}, []string{"2", "true", "maybe"}},
		{"schema", ask.Config{Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9}},"required":["n"]}`)}, `{"question":"How many?"}`, "How many?", tools.ActionAsk, []string{"7", `{"n":7}`}, []string{"10", "seven", `{"n":10}`}},
		{"question", ask.Config{Question: "Spend {{amount}}{{why}}?", Parameters: budget, Choices: []string{"yes", "no"}}, `{"amount":50}`, "Spend 50?\nChoices: yes | no", tools.ActionAsk, []string{"no"}, []string{"sure"}},
		{"placeholders in values", ask.Config{Question: "Spend {{amount}} {{why}}?", Parameters: budget}, `{"amount":5,"why":"{{amount}}"}`, "Spend 5 {{amount}}?", tools.ActionAsk, nil, nil},
		{"auth", ask.Config{Kind: "auth", Question: "Sign in.", URL: "https://id.example/x"}, `{}`, "Sign in.\nhttps://id.example/x", tools.ActionAuthorize, []string{"yes", `{"authenticated":true}`, "no"}, []string{"token 123", `"x"`}},
	} {
		entry := entryOf(t, tt.config)
		result := entry.Execute(t.Context(), &tools.Call{ID: "c", Tool: "q", Arguments: json.RawMessage(tt.arguments)})
		if result.Wait == nil || len(result.Wait.Questions) != 1 || !result.Wait.AnswerIsResult {
			t.Errorf("%s: the call does not wait for one answer: %q", tt.name, model.PartsText(result.Content))
			continue
		}
		q := result.Wait.Questions[0]
		if q.Message != tt.message || q.Action != tt.action {
			t.Errorf("%s: asked is %s %q, want %s %q", tt.name, q.Action, q.Message, tt.action, tt.message)
		}
		request := &interaction.Request{ID: "c", ResponseSchema: q.ResponseSchema}
		for _, answer := range tt.good {
			if _, err := interaction.ReadAnswer(t.Context(), request, answer); err != nil {
				t.Errorf("%s: %q is refused: %v", tt.name, answer, err)
			}
		}
		for _, answer := range tt.bad {
			if got, err := interaction.ReadAnswer(t.Context(), request, answer); err == nil {
				t.Errorf("%s: %q is taken for %s", tt.name, answer, got)
			}
		}
	}
}

func TestQuestionsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, arguments string }{
		{"none", `{}`}, {"empty", `{"question":""}`}, {"long", `{"question":"` + strings.Repeat("x", 5000) + `"}`},
		{"one choice", `{"question":"x","choices":["a"]}`}, {"something else", `{"question":"x","why":"y"}`},
	} {
		entry := entryOf(t, ask.Config{})
		result := entry.Execute(t.Context(), &tools.Call{ID: "c", Tool: "q", Arguments: json.RawMessage(tt.arguments)})
		if result.Wait != nil || !result.IsError {
			t.Errorf("%s: %s is asked", tt.name, tt.arguments)
		}
	}
	long := entryOf(t, ask.Config{Question: "{{x}}", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{}}}`)})
	if result := long.Execute(t.Context(), &tools.Call{ID: "c", Tool: "q", Arguments: json.RawMessage(`{"x":"` + strings.Repeat("x", 20000) + `"}`)}); result.Wait != nil {
		t.Error("a question of 20 kB is asked")
	}
}

func TestMistakesInAConfiguration(t *testing.T) {
	t.Parallel()
	many := make([]string, 33)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	for _, tt := range []struct {
		config ask.Config
		code   diag.Code
		path   string
	}{
		{ask.Config{Parameters: json.RawMessage(`{}`)}, diag.InvalidValue, "parameters"},
		{ask.Config{Question: "{{x"}, diag.InvalidValue, "question"},
		{ask.Config{Question: "{{x}}"}, diag.InvalidValue, "question"},
		{ask.Config{Choices: []string{"a"}}, diag.InvalidValue, "choices"},
		{ask.Config{Choices: many}, diag.InvalidValue, "choices"},
		{ask.Config{Choices: []string{"a", "A "}}, diag.InvalidValue, "choices[1]"},
		{ask.Config{Choices: []string{"a", ""}}, diag.InvalidValue, "choices[1]"},
		{ask.Config{Choices: []string{"a", "b"}, Schema: json.RawMessage(`{}`)}, diag.InvalidValue, "schema"},
		{ask.Config{Schema: json.RawMessage(`{"type":"nothing"}`)}, diag.InvalidSchema, "schema"},
		{ask.Config{Kind: "auht"}, diag.InvalidValue, "kind"},
		{ask.Config{URL: "https://x.example"}, diag.InvalidValue, "url"},
		{ask.Config{Kind: "auth", URL: "javascript:alert(1)"}, diag.InvalidValue, "url"},
		{ask.Config{Kind: "auth", URL: "http://x.example"}, diag.InvalidValue, "url"},
		{ask.Config{Kind: "auth", URL: "https://a:b@x.example"}, diag.InvalidValue, "url"},
		{ask.Config{Kind: "auth", Choices: []string{"a", "b"}}, diag.InvalidValue, "choices"},
		{ask.Config{Kind: "auth", Schema: json.RawMessage(`{}`)}, diag.InvalidValue, "schema"},
	} {
		list := tt.config.Validate()
		if len(list) != 1 || list[0].Code != tt.code || list[0].Path != tt.path {
			t.Errorf("%+v: diagnostics are %v, want one %s at %s", tt.config, list, tt.code, tt.path)
		}
		if _, err := ask.Kind().Create(tools.Settings{}, &tt.config); err == nil {
			t.Errorf("%+v: it is made", tt.config)
		}
	}
}
