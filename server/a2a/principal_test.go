package a2a_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/agentruntime/agentruntime/server"
	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
)

// callerOf returns a principal's caller.
func callerOf(name string) service.Caller {
	p, err := principals{}.Authenticate(&http.Request{Header: http.Header{"Authorization": {"Bearer " + name}}})
	if err != nil {
		panic(err)
	}
	return p.Caller
}

// withPush lets a world send push notifications.
func withPush(t *testing.T) option {
	return func(s *setup) {
		sender, err := a2aserver.NewPushSender(a2aserver.PushSettings{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sender.Close)
		s.service.Webhooks = map[string]webhook.Sender{a2aserver.PushSurface: sender}
	}
}

// methods are the methods that name a task or a context, and what is left of them
// when both belong to somebody else.
func methods(c *a2aclient.Client, task *a2a.Task) map[string]func(context.Context) error {
	push := &a2a.PushConfig{TaskID: task.ID, ID: "hook", URL: "https://example.com/hook"}
	drain := func(_ []a2a.Event, err error) error { return err }
	return map[string]func(context.Context) error{
		"GetTask": func(ctx context.Context) error {
			_, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID})
			return err
		},
		"CancelTask": func(ctx context.Context) error {
			_, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
			return err
		},
		"SubscribeToTask": func(ctx context.Context) error {
			return drain(events(c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID})))
		},
		"SendMessage to the task": func(ctx context.Context) error {
			_, err := c.SendMessage(ctx, request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("yes"))))
			return err
		},
		"SendStreamingMessage to the task": func(ctx context.Context) error {
			return drain(events(c.SendStreamingMessage(ctx, request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("yes"))))))
		},
		"GetTaskPushConfig": func(ctx context.Context) error {
			_, err := c.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "hook"})
			return err
		},
		"ListTaskPushConfigs": func(ctx context.Context) error {
			_, err := c.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: task.ID})
			return err
		},
		"CreateTaskPushConfig": func(ctx context.Context) error {
			_, err := c.CreateTaskPushConfig(ctx, push)
			return err
		},
		"DeleteTaskPushConfig": func(ctx context.Context) error {
			return c.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: "hook"})
		},
	}
}

func TestNobodySeesOrTouchesTheTasksOfOthers(t *testing.T) {
	w := open(t, withPush(t))
	w.model.teach("ask", asks("1", "who?"), says("done"))
	for _, over := range transports {
		mine := w.client("alice", "clerk", over)
		task := send(t, mine, request(user("ask")))
		if _, err := mine.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: task.ID, ID: "hook", URL: "https://example.com/hook"}); err != nil {
			t.Fatalf("%s: %v", over, err)
		}
		for who, c := range map[string]*a2aclient.Client{
			"another tenant":  w.client("bob", "clerk", over),
			"another subject": w.client("ann", "clerk", over),
			"another agent":   w.client("alice", "other", over),
			"no agent":        w.client("eve", "clerk", over),
		} {
			for name, call := range methods(c, task) {
				if err := call(t.Context()); !errors.Is(err, a2a.ErrTaskNotFound) {
					t.Errorf("%s: %s by %s gives %v", over, name, who, err)
				}
			}
			list, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: task.ContextID})
			if err == nil && (len(list.Tasks) != 0 || list.TotalSize != 0) || err != nil && !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("%s: ListTasks by %s gives %+v, %v", over, who, list, err)
			}
		}
		if got := get(t, mine, task.ID); got.Status.State != a2a.TaskStateInputRequired || len(got.History) != 2 {
			t.Errorf("%s: the task has become %+v", over, got)
		}
		for name, call := range methods(mine, task) {
			if name == "CancelTask" || name == "SubscribeToTask" || name == "SendMessage to the task" || name == "SendStreamingMessage to the task" {
				continue
			}
			if err := call(t.Context()); err != nil && name != "GetTaskPushConfig" {
				t.Errorf("%s: %s by the owner gives %v", over, name, err)
			}
		}
	}
}

func TestAnAgentThatAPrincipalMayNotUseLooksUnknown(t *testing.T) {
	w := open(t)
	for _, over := range transports {
		for name, c := range map[string]*a2aclient.Client{"hidden": w.client("eve", "clerk", over), "unknown": w.client("alice", "nobody", over)} {
			if _, err := c.SendMessage(t.Context(), request(user("hello"))); !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("%s: a message to an agent that is %s gives %v", over, name, err)
			}
			if _, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{}); !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("%s: the tasks of an agent that is %s give %v", over, name, err)
			}
			if _, err := c.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{}); !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("%s: the card of an agent that is %s gives %v", over, name, err)
			}
		}
		if _, err := w.client("mallory", "clerk", over).SendMessage(t.Context(), request(user("hello"))); err == nil {
			t.Errorf("%s: somebody without a credential is let in", over)
		}
	}
	resp, body := w.post("/a2a/clerk", "application/json", `{}`, "Authorization", "")
	if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") == "" || codeOf(t, body) == 0 || !strings.Contains(body, "jsonrpc") {
		t.Errorf("without a credential the answer is %d %s", resp.StatusCode, body)
	}
}

func TestEverybodyIsLetInWhereNoCredentialIsNeeded(t *testing.T) {
	w := open(t, func(s *setup) { s.server.Authenticator, s.settings.Open = nil, true })
	for _, over := range transports {
		if task := send(t, w.client("nobody", "clerk", over), request(user("hello"))); answerOf(task) != "you said: hello" {
			t.Errorf("%s: the task is %+v", over, task)
		}
	}
	if _, body := w.do(http.MethodGet, "/a2a/clerk/.well-known/agent-card.json", ""); strings.Contains(body, "security") {
		t.Errorf("the card asks for a credential: %s", body)
	}
}

func TestTheRequestsOfAPrincipalCountOnEveryTransport(t *testing.T) {
	w := open(t, func(s *setup) { s.server.Rate = server.Rate{PerSecond: 1e-3, Burst: 1} })
	for i, over := range transports {
		who := []string{"alice", "bob", "ann"}[i]
		c := w.client(who, "clerk", over)
		get := func() error {
			_, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "none"})
			return err
		}
		if err := get(); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("%s: the first request gives %v", over, err)
		}
		if err := get(); err == nil || errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("%s: one request too many gives %v", over, err)
		}
	}
}
