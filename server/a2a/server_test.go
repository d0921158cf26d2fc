package a2a_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
)

func TestSettingsThatCannotBeAreRefused(t *testing.T) {
	w := open(t)
	for name, s := range map[string]a2aserver.Settings{
		"no service":                 {PublicURL: "https://example.com"},
		"no public URL":              {Service: w.service},
		"no address":                 {Service: w.service, PublicURL: "example.com"},
		"an address with a query":    {Service: w.service, PublicURL: "https://example.com?x=1"},
		"an address with a password": {Service: w.service, PublicURL: "https://a:b@example.com"},
		"gRPC without authenticator": {Service: w.service, PublicURL: "https://example.com", GRPC: "127.0.0.1:0"},
	} {
		if _, err := a2aserver.New(s); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestAWaitEndsWhenTheServerDrains(t *testing.T) {
	for _, over := range transports {
		w := open(t)
		w.model.teach("slow", reply{chunks: []string{"never", ""}, hold: make(chan struct{})})
		c := w.client("alice", "clerk", over)
		begun := send(t, c, atOnce(user("slow")))
		reach(t, c, begun.ID, a2a.TaskStateWorking)
		got := make(chan error, 1)
		message := user("more")
		message.ContextID = begun.ContextID // it waits for the other
		go func() {
			res, err := c.SendMessage(t.Context(), request(message))
			if task, ok := res.(*a2a.Task); err == nil && (!ok || task.Status.State != a2a.TaskStateSubmitted) {
				t.Errorf("%s: the task is %+v", over, res)
			}
			got <- err
		}()
		eventually(t, func() bool {
			list, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: begun.ContextID})
			return err == nil && len(list.Tasks) == 2
		})
		if err := w.drain(); err != nil {
			t.Errorf("%s: %v", over, err)
		}
		if err := <-got; err != nil {
			t.Errorf("%s: the request that waited ends with %v", over, err)
		}
	}
}
