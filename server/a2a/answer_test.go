package a2a_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// asksFor is a reply that asks for something of a form, by an action.
func asksFor(id, question, action, schema string) reply {
	fields := map[string]any{"question": question, "action": action}
	if schema != "" {
		fields["schema"] = json.RawMessage(schema)
	}
	args, _ := json.Marshal(fields)
	return reply{calls: []model.ToolCall{{ID: id, Name: "ask", Arguments: args}}}
}

// onSQLite makes a world keep its turns in a file.
func onSQLite(t *testing.T) option {
	return func(s *setup) {
		kept, err := sqlite.Open(t.Context(), store.Settings{DSN: t.TempDir() + "/runtime.db"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = kept.Close() })
		s.service.Store = kept
	}
}

func onPostgres(t *testing.T) option {
	return func(s *setup) {
		kept, err := postgres.Open(t.Context(), store.Settings{DSN: newDatabase(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = kept.Close() })
		s.service.Store = kept
	}
}

func TestATaskAsksAndGoesOnWithTheAnswer(t *testing.T) {
	for name, options := range map[string][]option{"memory": nil, "sqlite": {onSQLite(t)}} {
		t.Run(name, func(t *testing.T) {
			w := open(t, options...)
			w.model.teach("ask", asks("1", "who are you?"), says("hello you"))
			for _, over := range transports {
				c := w.client("alice", "clerk", over)
				task := send(t, c, request(user("ask")))
				if task.Status.State != a2a.TaskStateInputRequired || textOf(task.Status.Message) != "who are you?" {
					t.Fatalf("%s: the task is %s: %s", over, task.Status.State, textOf(task.Status.Message))
				}
				answer := request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("me")))
				done := send(t, c, answer)
				if done.ID != task.ID || done.Status.State != a2a.TaskStateCompleted || answerOf(done) != "hello you" {
					t.Errorf("%s: the task is %s %s: %q", over, done.ID, done.Status.State, answerOf(done))
				}
				var said []string
				for _, m := range done.History {
					said = append(said, textOf(m))
				}
				if !slices.Equal(said, []string{"ask", "who are you?", "me"}) {
					t.Errorf("%s: the history is %q", over, said)
				}
			}
		})
	}
}

func TestThePartsOfAnAnswerStandOnLinesOfTheirOwn(t *testing.T) {
	w := open(t)
	w.model.teach("ask", asks("1", "who are you?"), says("hello"))
	c := w.client("alice", "clerk", transports[0])
	task := send(t, c, request(user("ask")))
	answer := a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("Ann"), a2a.NewTextPart("of Oslo"))
	done := send(t, c, request(answer))
	if got := textOf(done.History[len(done.History)-1]); got != "Ann\nof Oslo" {
		t.Errorf("the answer is %q", got)
	}
}

func TestAStreamEndsAtAQuestion(t *testing.T) {
	w := open(t)
	w.model.teach("ask", asks("1", "who?"), says("hello"))
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		list, err := events(c.SendStreamingMessage(t.Context(), request(user("ask"))))
		if err != nil {
			t.Fatal(err)
		}
		got := states(list)
		if got[len(got)-1] != a2a.TaskStateInputRequired {
			t.Fatalf("%s: the states are %v", over, got)
		}
		id := list[0].TaskInfo()
		list, err = events(c.SendStreamingMessage(t.Context(), request(a2a.NewMessageForTask(a2a.MessageRoleUser, id, a2a.NewTextPart("me")))))
		if err != nil {
			t.Fatal(err)
		}
		got = states(list)
		if content, _ := assembled(list); got[len(got)-1] != a2a.TaskStateCompleted || content["response"] != "hello" {
			t.Errorf("%s: the states are %v, the answer %q", over, got, content["response"])
		}
	}
}

func TestASubscriberIsShownAQuestionAndWhatFollows(t *testing.T) {
	w := open(t)
	w.model.teach("ask", asks("1", "who?"), asks("2", "really?"), says("hello"))
	c := w.alice()
	task := send(t, c, request(user("ask")))
	var list []a2a.Event
	answers := 0
	for ev, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, ev)
		if got := states(list); got[len(got)-1] == a2a.TaskStateInputRequired && answers < 2 {
			if _, artifact := ev.(*a2a.TaskArtifactUpdateEvent); !artifact {
				answers++
				send(t, c, atOnce(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("yes"))))
			}
		}
	}
	want := []a2a.TaskState{a2a.TaskStateInputRequired, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateWorking, a2a.TaskStateCompleted}
	if got := states(list); !slices.Equal(got, want) {
		t.Errorf("the states are %v", got)
	}
}

func TestQuestionsAreAskedOneAfterTheOther(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.UniqueMessageIDs = true })
	both := asks("1", "first?")
	both.calls = append(both.calls, asks("2", "second?").calls...)
	w.model.teach("ask", both, says("done"))
	c := w.alice()
	task := send(t, c, request(user("ask")))
	if textOf(task.Status.Message) != "first?" {
		t.Errorf("the question is %q", textOf(task.Status.Message))
	}
	task = send(t, c, request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("one"))))
	if task.Status.State != a2a.TaskStateInputRequired || textOf(task.Status.Message) != "second?" {
		t.Fatalf("the task is %s: %q", task.Status.State, textOf(task.Status.Message))
	}
	list, err := events(c.SendStreamingMessage(t.Context(), request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("two")))))
	if content, _ := assembled(list); err != nil || content["response"] != "done" {
		t.Errorf("the answer is %q, %v", content["response"], err)
	}
}

func TestAnAnswerIsPutIntoTheFormThatIsAskedFor(t *testing.T) {
	const consent = `{"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"},"reason":{"type":"string"}},"additionalProperties":false}`
	data := func(v any) *a2a.Part { return a2a.NewDataPart(v) }
	for name, c := range map[string]struct {
		schema string
		part   *a2a.Part
		want   string // empty is an error
	}{
		"any form takes a text":          {"", a2a.NewTextPart("me"), `"me"`},
		"any form takes data":            {"", data(map[string]any{"a": 1}), `{"a":1}`},
		"a text":                         {`{"type":"string"}`, a2a.NewTextPart("yes"), `"yes"`},
		"one of several texts":           {`{"enum":["red","blue"]}`, a2a.NewTextPart(" red\n"), `"red"`},
		"none of several texts":          {`{"enum":["red","blue"]}`, a2a.NewTextPart("green"), ""},
		"yes":                            {`{"type":"boolean"}`, a2a.NewTextPart("Yes."), `true`},
		"no":                             {`{"type":"boolean"}`, a2a.NewTextPart("no"), `false`},
		"neither yes nor no":             {`{"type":"boolean"}`, a2a.NewTextPart("perhaps"), ""},
		"a number":                       {`{"type":"number"}`, a2a.NewTextPart("42"), `42`},
		"consent":                        {consent, a2a.NewTextPart("ok"), `{"approved":true}`},
		"refusal":                        {consent, a2a.NewTextPart("deny"), `{"approved":false}`},
		"consent as data":                {consent, data(map[string]any{"approved": false, "reason": "no"}), `{"approved":false,"reason":"no"}`},
		"consent as JSON in a text":      {consent, a2a.NewTextPart(`{"approved": true}`), `{"approved": true}`},
		"what is no consent":             {consent, a2a.NewTextPart("whatever"), ""},
		"the one field that is required": {`{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"x":{}}}`, a2a.NewTextPart("me"), `{"name":"me"}`},
		"the only field":                 {`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, a2a.NewTextPart("7"), `{"n":7}`},
		"data that does not fit":         {consent, data(map[string]any{"approved": "perhaps"}), ""},
		"an answer with an address":      {consent, data(map[string]any{"interaction_id": "q_1", "response": map[string]any{"approved": true}}), `{"approved":true}`},
		"an answer with a wrong address": {consent, data(map[string]any{"interaction_id": "q_9", "response": map[string]any{"approved": true}}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.model.teach("ask", asksFor("1", "may I?", "", c.schema), says("done"))
			client := w.alice()
			task := send(t, client, request(user("ask")))
			res, err := client.SendMessage(t.Context(), request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, c.part)))
			if c.want == "" {
				if !errors.Is(err, a2a.ErrInvalidParams) || !strings.Contains(err.Error(), "may I?") && !strings.Contains(err.Error(), "q_9") {
					t.Errorf("the error is %v", err)
				}
				if got := get(t, client, task.ID); got.Status.State != a2a.TaskStateInputRequired {
					t.Errorf("the task is %s", got.Status.State)
				}
				return
			}
			if err != nil || res.(*a2a.Task).Status.State != a2a.TaskStateCompleted {
				t.Fatalf("the task is %+v, %v", res, err)
			}
			open, err := w.service.ListInteractions(t.Context(), callerOf("alice"), store.InteractionQuery{TurnID: string(task.ID)})
			if err != nil || len(open) != 1 {
				t.Fatal(open, err)
			}
			var given struct {
				Result json.RawMessage `json:"result"`
			}
			if err := json.Unmarshal(open[0].Answer, &given); err != nil || !sameJSON(given.Result, c.want) {
				t.Errorf("the answer is %s, not %s", given.Result, c.want)
			}
		})
	}
}

func TestAnAuthorizationIsAskedForAsSuch(t *testing.T) {
	w := open(t)
	w.model.teach("auth", asksFor("1", "log in", "a2a:auth_required", ""), says("done"))
	c := w.alice()
	task := send(t, c, request(user("auth")))
	if task.Status.State != a2a.TaskStateAuthRequired {
		t.Fatalf("the task is %s", task.Status.State)
	}
	for status, want := range map[a2a.TaskState]int{a2a.TaskStateAuthRequired: 1, a2a.TaskStateInputRequired: 0} {
		list, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{Status: status})
		if err != nil || len(list.Tasks) != want {
			t.Errorf("there are %d tasks in %s, %v", len(list.Tasks), status, err)
		}
	}
	if done := send(t, c, request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("did")))); done.Status.State != a2a.TaskStateCompleted {
		t.Errorf("the task is %s", done.Status.State)
	}
}

func TestAnAnswerThatIsRepeatedAnswersNoOtherQuestion(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.UniqueMessageIDs = true })
	both := asks("1", "first?")
	both.calls = append(both.calls, asks("2", "second?").calls...)
	w.model.teach("ask", both, says("done"))
	c := w.alice()
	task := send(t, c, request(user("ask")))
	first := a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("yes"))
	for range 3 {
		again := send(t, c, request(first))
		if again.Status.State != a2a.TaskStateInputRequired || textOf(again.Status.Message) != "second?" {
			t.Fatalf("the task is %s: %q", again.Status.State, textOf(again.Status.Message))
		}
	}
	changed := a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("no"))
	changed.ID = first.ID
	if _, err := c.SendMessage(t.Context(), request(changed)); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("another message with the same id gives %v", err)
	}
	send(t, c, request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("yes"))))
	reach(t, c, task.ID, a2a.TaskStateCompleted)
	if ended := send(t, c, request(first)); ended.Status.State != a2a.TaskStateCompleted {
		t.Errorf("after the end the task is %s", ended.Status.State)
	}
	if !slices.ContainsFunc(send(t, c, request(first)).History, func(m *a2a.Message) bool { return m.ID == first.ID }) {
		t.Error("the history does not have the answer by its id")
	}
}

func TestTheSameAnswerAgainChangesNothing(t *testing.T) {
	w := open(t)
	hold := make(chan struct{})
	w.model.teach("ask", asks("1", "who?"), reply{chunks: []string{"so", " slow"}, hold: hold})
	c := w.alice()
	task := send(t, c, request(user("ask")))
	answer := atOnce(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("me")))
	for range 2 {
		if got := send(t, c, answer); got.ID != task.ID || got.Status.State == a2a.TaskStateInputRequired {
			t.Errorf("the task is %+v", got)
		}
	}
	other := atOnce(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("somebody else")))
	if _, err := c.SendMessage(t.Context(), other); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Errorf("another answer gives %v", err)
	}
	close(hold)
	reach(t, c, task.ID, a2a.TaskStateCompleted)
}

func sameJSON(got json.RawMessage, want string) bool {
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
