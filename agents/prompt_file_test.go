package agents_test

import (
	"context"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/model"
)

type greeting struct {
	Name  string   `json:"name"`
	Tone  string   `json:"tone,omitempty"`
	Facts []string `json:"facts,omitempty"`
}

const greetingPrompt = `---
description: Greets.
input:
  schema: {name: string, tone?: string}
  default: {tone: warm}
---
{{role "system"}}
Greet {{name}} in a {{ tone }} tone.{{! not shown }}
{{role "user"}}The first fact: {{facts.0}}
{{history}}
`

func TestPromptFilesRenderTheirInput(t *testing.T) {
	t.Parallel()
	file, err := agents.ParsePromptFile[greeting]([]byte(greetingPrompt))
	if err != nil {
		t.Fatal(err)
	}
	got, err := file.Render(greeting{Name: "Ann", Facts: []string{"it rains"}}, []model.Message{model.User("Hi.")})
	if err != nil {
		t.Fatal(err)
	}
	if got.Instructions != "Greet Ann in a warm tone." || len(got.History) != 2 || got.History[0].Text() != "The first fact: it rains" || got.History[1].Text() != "Hi." {
		t.Errorf("the prompt is %+v", got)
	}
	if file.Description != "Greets." {
		t.Errorf("the description is %q", file.Description)
	}
}

func TestPromptFilesRejectWhatTheyCannotDo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{{nmae}}":             `no field "nmae"`,
		"{{#if name}}x{{/if}}": "{{#if name}} is not supported",
		"{{> header}}":         "{{> header}} is not supported",
		"{{upper name}}":       "{{upper name}} is not supported",
		"{{}}":                 "{{}} is not supported",
		"{{name":               "has no }}",
		"{{role \"boss\"}}":    "the role must be",
		"{{history}} and more": "must be the end",
		"{{history}}{{name}}":  "must be the end",
		"---\ninput: {default: {z: 1, b: 1}}\ntools: [a]\nmodel: x\n---\n{{nmae}}": "model: it belongs to the declared agent\ntools: it belongs to the declared agent\n" +
			"input.default: the input has no field \"b\"; its fields are facts, name, tone\ninput.default: the input has no field \"z\"",
		"---\nmodel: x\n---\nHi":                "model: it belongs to the declared agent",
		"---\ntools: [a]\n---\nHi":              "tools: it belongs to the declared agent",
		"---\ninput: {schema: {b: x}}\n---\nHi": `input.schema: the input has no field "b"`,
		"---\nwhat: x\n---\nHi":                 "front matter",
		"---\nname: x\n":                        "does not end",
	} {
		if _, err := agents.ParsePromptFile[greeting]([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %s", text, err, want)
		}
	}
	if _, err := agents.ParsePromptFile[struct{}]([]byte("{{name}}")); err == nil || !strings.Contains(err.Error(), `no field "name"; its fields are none`) {
		t.Errorf("a field of an input without fields gives %v", err)
	}
}

func TestPromptFilesDriveAgents(t *testing.T) {
	t.Parallel()
	file, err := agents.ParsePromptFile[greeting]([]byte(greetingPrompt))
	if err != nil {
		t.Fatal(err)
	}
	var index []int
	agent, err := agents.PromptedFile("plain", file, func(_ context.Context, t *agents.Turn[ledger]) (greeting, error) {
		index = append(index, t.Context().Index)
		return greeting{Name: "Ann"}, nil
	}, agents.Options[ledger]{ClientManaged: true})
	if err != nil {
		t.Fatal(err)
	}
	serveSet(t, newRuntime(t, yes{}, agent), agent)
	talk, err := agent.Connect(t.Context(), agents.Source{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := talk.Send(t.Context(), agents.Text("Hello")); err != nil {
			t.Fatal(err)
		}
		if out, err := talk.Output(t.Context()); err != nil || out.Text() != "Yes." {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	if len(index) != 2 || index[0] != 0 || index[1] != 1 {
		t.Errorf("the turns have the indexes %v", index)
	}
}

func TestCodeSpansTheTurnsOfAConnection(t *testing.T) {
	t.Parallel()
	begun := 0
	agent, err := agents.Connected("plain", func(context.Context) (func(context.Context, *agents.Turn[ledger]) (*agents.Result, error), error) {
		begun++
		turns := 0
		return func(_ context.Context, turn *agents.Turn[ledger]) (*agents.Result, error) {
			turns++
			if turns == 3 {
				if err := turn.ReplaceHistory(model.User("What came before?"), model.Assistant("Two turns.")); err != nil {
					return nil, err
				}
			}
			return &agents.Result{Text: strings.Repeat("I", turns)}, nil
		}, nil
	}, agents.Options[ledger]{ClientManaged: true})
	if err != nil {
		t.Fatal(err)
	}
	serveSet(t, newRuntime(t, yes{}, agent), agent)
	for range 2 {
		talk, err := agent.Connect(t.Context(), agents.Source{})
		if err != nil {
			t.Fatal(err)
		}
		var last *agents.Output[ledger]
		for _, want := range []string{"I", "II", "III"} {
			if err := talk.Send(t.Context(), agents.Text("Next")); err != nil {
				t.Fatal(err)
			}
			if last, err = talk.Output(t.Context()); err != nil || last.Text() != want {
				t.Fatalf("%+v, %v", last, err)
			}
		}
		if kept := last.State.Messages; len(kept) != 4 || kept[1].Text() != "Two turns." || kept[3].Text() != "III" {
			t.Errorf("the conversation is %+v", kept)
		}
	}
	if begun != 2 {
		t.Errorf("code was begun %d times for 2 connections", begun)
	}
	if _, err := agents.Connected[ledger]("counter", nil, agents.Options[ledger]{}); err == nil || !strings.Contains(err.Error(), "set ClientManaged or Snapshots") {
		t.Errorf("an agent of the service gives %v", err)
	}
}

func TestTheServiceKeepsItsHistory(t *testing.T) {
	t.Parallel()
	agent, err := agents.Custom("keeper", func(_ context.Context, turn *agents.Turn[ledger]) (*agents.Result, error) {
		return &agents.Result{Text: "ok"}, turn.ReplaceHistory()
	}, agents.Options[ledger]{})
	if err != nil {
		t.Fatal(err)
	}
	serveSet(t, newRuntime(t, yes{}, agent), agent)
	if out, err := agent.RunText(t.Context(), agents.Source{}, "x"); err != nil || out.FinishReason != wire.FinishFailed {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestDiffIsWhatApplyPatchApplies(t *testing.T) {
	t.Parallel()
	from, to := []byte(`{"a":1,"b":[1,2,3]}`), []byte(`{"b":[1,3],"c":{"d":null}}`)
	got, err := agents.ApplyPatch(from, agents.Diff(from, to))
	if err != nil || string(got) != string(to) {
		t.Errorf("got %s, %v", got, err)
	}
}
