package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

func call(t *testing.T, c clienttool.Config, resumed *tools.Resumed) tools.Result {
	t.Helper()
	result, err := clienttool.New(c).Call(t.Context(), &tools.Call{ID: "c1", Tool: "lookup", Arguments: json.RawMessage(`{}`), Resumed: resumed})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestACallWaitsForTheClient(t *testing.T) {
	echo := json.RawMessage(`{"kind":"mcp_local","mcpServer":"fs"}`)
	result := call(t, clienttool.Config{Name: "read.file", Echo: echo}, nil)
	if result.Wait == nil || len(result.Wait.Questions) != 1 || result.Wait.AnswerIsResult {
		t.Fatalf("it comes to %+v", result)
	}
	q := result.Wait.Questions[0]
	if q.Action != clienttool.Action || q.Tool != "read.file" || string(q.Arguments) != "{}" || string(q.Parameters) != string(echo) || q.ID != "" {
		t.Errorf("it asks %+v", q)
	}
	if q := call(t, clienttool.Config{}, nil).Wait.Questions[0]; q.Tool != "lookup" {
		t.Errorf("without a name of its own it is called %s", q.Tool)
	}
}

func TestACallWhoseWorkerDiedWaitsAgain(t *testing.T) {
	if result := call(t, clienttool.Config{}, &tools.Resumed{}); result.Wait == nil {
		t.Errorf("it comes to %+v", result)
	}
}

func TestTheAnswerIsWhatTheCallComesTo(t *testing.T) {
	for name, c := range map[string]struct {
		answer  interaction.Answer
		text    string
		isError bool
	}{
		"a result":       {interaction.Answer{Result: json.RawMessage(`{"result":"42"}`)}, "42", false},
		"nothing":        {interaction.Answer{Result: json.RawMessage(`{"result":""}`)}, "", false},
		"an error":       {interaction.Answer{Result: json.RawMessage(`{"error":"no such file"}`)}, "no such file", true},
		"neither":        {interaction.Answer{Result: json.RawMessage(`{}`)}, "the client answered with neither a result nor an error", true},
		"a refusal":      {interaction.Answer{Action: interaction.Cancel, Reason: "too late"}, "the client refused the call: too late", true},
		"a bare refusal": {interaction.Answer{Action: interaction.Cancel}, "the client refused the call", true},
	} {
		t.Run(name, func(t *testing.T) {
			result := call(t, clienttool.Config{}, &tools.Resumed{Answers: []interaction.Answer{c.answer}})
			if got := model.PartsText(result.Content); got != c.text || result.IsError != c.isError || result.Wait != nil {
				t.Errorf("it comes to %+v", result)
			}
		})
	}
}

func TestFilesFollowTheResult(t *testing.T) {
	answer := func(files string) tools.Result {
		return call(t, clienttool.Config{}, &tools.Resumed{Answers: []interaction.Answer{{Result: json.RawMessage(`{"result":"done","files":` + files + `}`)}}})
	}
	result := answer(`[{"mimeType":"image/png","filename":"a.png","data":"aGk="},{"mimeType":"application/pdf","data":"eA=="}]`)
	if len(result.Content) != 3 || result.Content[0].Text != "done" || result.Content[1].Type != model.PartImage || string(result.Content[1].Blob.Data) != "hi" ||
		result.Content[1].Blob.Name != "a.png" || result.Content[2].Blob.MediaType != "application/pdf" {
		t.Errorf("the result is %+v", result.Content)
	}
	if result := answer(`[{"mimeType":"image/png","data":"?"}]`); !result.IsError || !strings.Contains(model.PartsText(result.Content), "base64") {
		t.Errorf("an invalid file gives %+v", result)
	}
}

func TestAnAnswerHasExactlyOneOfResultAndError(t *testing.T) {
	compiled, err := schema.Compile(call(t, clienttool.Config{}, nil).Wait.Questions[0].ResponseSchema)
	if err != nil {
		t.Fatal(err)
	}
	for answer, fits := range map[string]bool{
		`{"result":""}`: true, `{"error":"x"}`: true, `{"result":"","files":[{"mimeType":"a/b","data":"eA=="}]}`: true,
		`{"error":"x","files":[]}`: false, `{"files":[]}`: false, `{"result":"","files":[{"data":"eA=="}]}`: false, `{"result":"","files":[1]}`: false,
		`{}`: false, `{"result":"","error":""}`: false, `{"result":1}`: false, `{"result":null}`: false, `"x"`: false, `{"output":"x"}`: false,
	} {
		found, err := compiled.ValidateJSON(t.Context(), []byte(answer))
		if err != nil || (len(found) == 0) != fits {
			t.Errorf("%s: %v, %v", answer, found, err)
		}
	}
}

func TestWhatModelsDoNotTakeForASchemaIsLeftOut(t *testing.T) {
	for raw, kept := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}}}`: true,
		`{"properties":{}}`: true,
		`{}`:                true,
		`{"type":"array"}`:  false, `{"type":["object","null"]}`: false, `true`: false, `null`: false, `[]`: false, ``: false, `"x"`: false,
	} {
		d := clienttool.New(clienttool.Config{Parameters: json.RawMessage(raw), Output: json.RawMessage(raw)}).Descriptor()
		want := ""
		if kept {
			want = raw
		}
		if string(d.Parameters) != want || string(d.Output) != want {
			t.Errorf("%s becomes %s and %s", raw, d.Parameters, d.Output)
		}
	}
}

func TestALongRunningToolSaysSo(t *testing.T) {
	for description, want := range map[string]string{"": clienttool.LongRunning, "Builds.": "Builds.\n\n" + clienttool.LongRunning} {
		d := clienttool.New(clienttool.Config{Description: description, LongRunning: true}).Descriptor()
		if d.Description != want {
			t.Errorf("%q becomes %q", description, d.Description)
		}
	}
	if d := clienttool.New(clienttool.Config{Description: "Builds."}).Descriptor(); strings.Contains(d.Description, "NOTE") {
		t.Errorf("another says %q", d.Description)
	}
}

func TestACallIsNeverHandedOnInPart(t *testing.T) {
	t.Parallel()
	made := clienttool.New(clienttool.Config{})
	for n, waits := range map[int]bool{clienttool.MaxArguments: true, clienttool.MaxArguments + 1: false} {
		raw := json.RawMessage(`{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}`)
		got, err := made.Call(t.Context(), &tools.Call{Tool: "look", Arguments: raw})
		if err != nil || (got.Wait != nil) != waits || !waits && !got.IsError {
			t.Errorf("with %d bytes it returns %+v, %v", n, got, err)
		}
	}
}
