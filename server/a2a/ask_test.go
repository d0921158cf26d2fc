package a2a_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/ask"
)

// withQuestion adds a tool of the kind ask.
func withQuestion(t *testing.T, id string, c ask.Config) option {
	t.Helper()
	made, err := ask.Kind().Create(tools.Settings{ID: id}, &c)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *setup) { s.tools[id] = made }
}

// calls is a reply that calls a tool.
func calls(tool, arguments string) reply {
	return reply{calls: []model.ToolCall{{ID: "call_" + tool, Name: tool, Arguments: json.RawMessage(arguments)}}}
}

func TestAToolThatAsksIsAnsweredOverEachTransport(t *testing.T) {
	w := open(t, withQuestion(t, "choose", ask.Config{Choices: []string{"Left", "Right"}}), withQuestion(t, "sign_in", ask.Config{Kind: "auth", URL: "https://id.example/login"}))
	w.model.teach("go", calls("choose", `{"question":"Which way?"}`), calls("sign_in", `{"question":"Sign in."}`), says("done"))
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		task := send(t, c, request(user("go")))
		if task.Status.State != a2a.TaskStateInputRequired || textOf(task.Status.Message) != "Which way?\nChoices: Left | Right" {
			t.Fatalf("%s: the task is %s: %q", over, task.Status.State, textOf(task.Status.Message))
		}
		answer := func(parts ...*a2a.Part) *a2a.SendMessageRequest {
			return request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, parts...))
		}
		if _, err := c.SendMessage(t.Context(), answer(a2a.NewTextPart("up"))); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s: an answer that is no choice gives %v", over, err)
		}
		if still := get(t, c, task.ID); still.Status.State != a2a.TaskStateInputRequired {
			t.Errorf("%s: after an answer that is no choice the task is %s", over, still.Status.State)
		}
		task = send(t, c, answer(a2a.NewTextPart("left")))
		if task.Status.State != a2a.TaskStateAuthRequired || textOf(task.Status.Message) != "Sign in.\nhttps://id.example/login" {
			t.Fatalf("%s: the task is %s: %q", over, task.Status.State, textOf(task.Status.Message))
		}
		if about := aboutOf(t, task); about["url"] != "https://id.example/login" || about["kind"] != "auth" {
			t.Errorf("%s: a program is told %v", over, about)
		}
		if _, err := c.SendMessage(t.Context(), answer(a2a.NewTextPart("hunter2"))); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s: a credential as the answer gives %v", over, err)
		}
		done := send(t, c, answer(a2a.NewDataPart(map[string]any{"authenticated": true})))
		if done.Status.State != a2a.TaskStateCompleted || answerOf(done) != "done" {
			t.Errorf("%s: the task is %s: %q", over, done.Status.State, answerOf(done))
		}
	}
}

// aboutOf returns the parameters of the question of a task.
func aboutOf(t *testing.T, task *a2a.Task) map[string]any {
	t.Helper()
	for _, p := range task.Status.Message.Parts {
		if data, ok := p.Data().(map[string]any); ok {
			about, _ := data["parameters"].(map[string]any)
			return about
		}
	}
	t.Fatal("the question has no data")
	return nil
}

func TestAStreamShowsThatAnAuthorizationIsAskedFor(t *testing.T) {
	w := open(t, withQuestion(t, "sign_in", ask.Config{Kind: "auth"}))
	w.model.teach("go", calls("sign_in", `{"question":"Sign in."}`), says("done"))
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		var shown []a2a.TaskState
		for ev, err := range c.SendStreamingMessage(t.Context(), request(user("go"))) {
			if err != nil {
				t.Fatal(err)
			}
			if shown = append(shown, states([]a2a.Event{ev})...); len(shown) > 0 && shown[len(shown)-1] == a2a.TaskStateAuthRequired {
				break
			}
		}
		if len(shown) == 0 || shown[len(shown)-1] != a2a.TaskStateAuthRequired {
			t.Errorf("%s: the stream shows %v", over, shown)
		}
	}
}
