package a2a_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// inContext is a message with a text in a context.
func inContext(id, text string) *a2a.Message {
	m := user(text)
	m.ContextID = id
	return m
}

func TestAClientMayNameItsContexts(t *testing.T) {
	for name, options := range map[string][]option{"memory": nil, "sqlite": {onSQLite(t)}, "postgres": {onPostgres(t)}} {
		t.Run(name, func(t *testing.T) {
			w := open(t, options...)
			w.model.teach("ask", asks("1", "who are you?"), says("hello you"))
			for _, over := range transports {
				c, own := w.client("alice", "clerk", over), "my context of "+string(over)
				first, second := send(t, c, request(inContext(own, "hello"))), send(t, c, request(inContext(own, "more")))
				if first.ContextID != own || second.ContextID != own || first.ID == second.ID || first.History[0].ContextID != own {
					t.Errorf("%s: the tasks are %+v and %+v", over, first, second)
				}
				list, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: own})
				if err != nil || len(list.Tasks) != 2 || list.Tasks[0].ContextID != own {
					t.Errorf("%s: the list of the context is %+v, %v", over, list, err)
				}
				asked, err := events(c.SendStreamingMessage(t.Context(), request(inContext(own, "ask"))))
				if err != nil || len(asked) < 2 {
					t.Fatalf("%s: the stream is %v, %v", over, asked, err)
				}
				for _, ev := range asked {
					if ev.TaskInfo().ContextID != own {
						t.Errorf("%s: an event is of the context %q", over, ev.TaskInfo().ContextID)
					}
				}
				answer := inContext(own, "me")
				answer.TaskID = asked[0].TaskInfo().TaskID
				if done := send(t, c, request(answer)); done.Status.State != a2a.TaskStateCompleted || done.ContextID != own {
					t.Errorf("%s: the answered task is %+v", over, done)
				}
				answer.ContextID = "another"
				if _, err := c.SendMessage(t.Context(), request(answer)); !errors.Is(err, a2a.ErrInvalidParams) {
					t.Errorf("%s: an answer in another context gives %v", over, err)
				}
			}
		})
	}
}

func TestAContextGoesOnInItsSession(t *testing.T) {
	w := open(t)
	c := w.alice()
	send(t, c, request(inContext("mine", "hello")))
	task := send(t, c, request(inContext("mine", "more")))
	turn, err := w.service.GetTurn(t.Context(), service.Operator(), string(task.ID))
	if err != nil || turn.SessionID == "mine" {
		t.Fatalf("the session is %s, %v", turn.SessionID, err)
	}
	turns, err := w.service.ListTurns(t.Context(), service.Operator(), store.TurnQuery{SessionID: turn.SessionID})
	if err != nil || len(turns.Turns) != 2 {
		t.Errorf("the session has %d turns, %v", len(turns.Turns), err)
	}
	if again := send(t, c, request(inContext(turn.SessionID, "by the id of the session"))); again.ContextID != "mine" {
		t.Errorf("the context of the session is %q", again.ContextID)
	}
}

// TestAContextOfSomebodyElseIsNone uses the ids of contexts of others: they are as
// good as new.
func TestAContextOfSomebodyElseIsNone(t *testing.T) {
	w := open(t)
	w.model.teach("ask", asks("1", "who are you?"), says("hello you"))
	made := send(t, w.alice(), request(user("hello"))).ContextID
	named := send(t, w.alice(), request(inContext("named", "hello"))).ContextID
	for _, id := range []string{made, named, "nobody's"} {
		for _, who := range []string{"bob", "ann"} {
			c := w.client(who, "clerk", a2a.TransportProtocolJSONRPC)
			if list, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: id}); err != nil || len(list.Tasks) != 0 {
				t.Errorf("%s finds %+v in %s, %v", who, list, id, err)
			}
			task := send(t, c, request(inContext(id, "mine")))
			list, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: id})
			if err != nil || task.ContextID != id || len(list.Tasks) != 1 || list.Tasks[0].ID != task.ID {
				t.Errorf("%s has %+v in %s, %v", who, list, id, err)
			}
		}
		if other := send(t, w.client("alice", "other", a2a.TransportProtocolJSONRPC), request(inContext(id, "x"))); other.ContextID != id {
			t.Errorf("the context of another agent is %q", other.ContextID)
		}
	}
	if list, err := w.alice().ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: named}); err != nil || len(list.Tasks) != 1 {
		t.Errorf("the owner has %+v, %v", list, err)
	}
}

func TestMessagesAtTheSameTimeBeginOneContext(t *testing.T) {
	for name, options := range map[string][]option{"memory": nil, "sqlite": {onSQLite(t)}, "postgres": {onPostgres(t)}} {
		t.Run(name, func(t *testing.T) {
			w := open(t, options...)
			c, all := w.alice(), sync.WaitGroup{}
			for i := range 8 {
				all.Go(func() {
					if _, err := c.SendMessage(t.Context(), atOnce(inContext("mine", fmt.Sprint(i)))); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			page, err := w.service.ListSessions(t.Context(), service.Operator(), store.SessionQuery{})
			if err != nil || len(page.Sessions) != 1 {
				t.Errorf("there are %d sessions, %v", len(page.Sessions), err)
			}
		})
	}
}

func TestAContextSurvivesARestart(t *testing.T) {
	file := t.TempDir() + "/runtime.db"
	database := sync.OnceValue(func() string { return newDatabase(t) })
	for name, reopen := range map[string]func(context.Context) (store.Store, error){
		"sqlite": func(ctx context.Context) (store.Store, error) { return sqlite.Open(ctx, store.Settings{DSN: file}) },
		"postgres": func(ctx context.Context) (store.Store, error) {
			return postgres.Open(ctx, store.Settings{DSN: database()})
		},
	} {
		var before *a2a.Task
		for _, when := range []string{"before", "after"} {
			t.Run(name+" "+when, func(t *testing.T) {
				kept, err := reopen(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = kept.Close() })
				w := open(t, func(s *setup) { s.service.Store = kept })
				task := send(t, w.alice(), request(inContext("mine", when)))
				list, err := w.alice().ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: "mine"})
				if before != nil && (err != nil || len(list.Tasks) != 2 || get(t, w.alice(), before.ID).ContextID != "mine") {
					t.Errorf("the context has %+v, %v", list, err)
				}
				before = task
			})
		}
	}
}

func TestAnIDOfAContextIsBounded(t *testing.T) {
	w := open(t)
	for _, id := range []string{strings.Repeat("x", 256), "a\x00b", "a\nb"} {
		if _, err := w.alice().SendMessage(t.Context(), request(inContext(id, "hello"))); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%.10q gives %v", id, err)
		}
		if _, err := w.alice().ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: id}); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("a list of %.10q gives %v", id, err)
		}
	}
	longest := strings.Repeat("x", 255)
	if task := send(t, w.alice(), request(inContext(longest, "hello"))); task.ContextID != longest {
		t.Errorf("the context is %q", task.ContextID)
	}
}

// withID is a message with a text and an id.
func withID(id, text string) *a2a.Message {
	m := user(text)
	m.ID = id
	return m
}

func TestAnotherMessageWithAnIDIsAMessageOfItsOwn(t *testing.T) {
	w := open(t)
	w.model.teach("ask", asks("1", "one?"), asks("2", "two?"), says("done"))
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		id := "an id of " + string(over)
		first, other := send(t, c, request(withID(id, "hello"))), send(t, c, request(withID(id, "goodbye")))
		if first.ID == other.ID || first.ContextID == other.ContextID || answerOf(other) != "you said: goodbye" {
			t.Errorf("%s: the tasks are %+v and %+v", over, first, other)
		}
		for text, want := range map[string]a2a.TaskID{"hello": first.ID, "goodbye": other.ID} {
			if again := send(t, c, request(withID(id, text))); again.ID != want {
				t.Errorf("%s: %q again is %s, not %s", over, text, again.ID, want)
			}
		}
		in := withID(id, "hello")
		in.ContextID = first.ContextID
		if again := send(t, c, request(in)); again.ID != first.ID {
			t.Errorf("%s: the message with its context is %s", over, again.ID)
		}
		asked := send(t, c, request(withID(id, "ask")))
		for _, text := range []string{"first", "first", "second"} {
			answer := withID(id, text)
			answer.TaskID = asked.ID
			asked = send(t, c, request(answer))
		}
		if asked.Status.State != a2a.TaskStateCompleted {
			t.Errorf("%s: the answered task is %s", over, asked.Status.State)
		}
	}
}

func TestAnotherMessageWithAnIDCanBeRefused(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.UniqueMessageIDs = true })
	w.model.teach("ask", asks("1", "one?"), asks("2", "two?"), says("done"))
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		id := "an id of " + string(over)
		first := send(t, c, request(withID(id, "hello")))
		if again := send(t, c, request(withID(id, "hello"))); again.ID != first.ID {
			t.Errorf("%s: the same message is %s", over, again.ID)
		}
		if _, err := c.SendMessage(t.Context(), request(withID(id, "goodbye"))); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s: another message gives %v", over, err)
		}
		answer := withID("answer "+id, "first")
		answer.TaskID = send(t, c, request(user("ask"))).ID
		send(t, c, request(answer))
		answer.Parts = a2a.ContentParts{a2a.NewTextPart("second")}
		if _, err := c.SendMessage(t.Context(), request(answer)); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s: another answer gives %v", over, err)
		}
	}
}
