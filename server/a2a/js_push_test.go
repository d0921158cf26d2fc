package a2a_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/a2asdk"
)

// note is a notification that a receiver got.
type note struct {
	header http.Header
	state  string
}

// receive listens for notifications, and returns where.
func receive(t *testing.T) (url string, notes <-chan note) {
	t.Helper()
	got := make(chan note, 16)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			// Version 1.0 posts what a stream has, 0.3 the task.
			StatusUpdate struct{ Status struct{ State string } } `json:"statusUpdate"`
			Status       struct{ State string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("the notification is no JSON: %v", err)
		}
		state := strings.TrimPrefix(cmp.Or(body.StatusUpdate.Status.State, body.Status.State), "TASK_STATE_")
		got <- note{r.Header, strings.ReplaceAll(strings.ToLower(state), "_", "-")}
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

// awaitNotes waits for notifications, in this order, with the credentials. Between them
// there may be others with the state working.
func awaitNotes(t *testing.T, notes <-chan note, states ...string) {
	t.Helper()
	for len(states) > 0 {
		select {
		case n := <-notes:
			if n.header.Get("Authorization") != "Bearer s3cret" || n.header.Get("X-A2A-Notification-Token") != "tok" {
				t.Errorf("a notification has the header %v", n.header)
			}
			if n.state == states[0] {
				states = states[1:]
			} else if n.state != "working" {
				t.Errorf("a notification says %s; expected is %s", n.state, states[0])
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("nobody is told that the task is %s", states[0])
		}
	}
}

func TestJavaScriptIsNotified(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		url, notes := receive(t)
		hook := a2asdk.Push{ID: "hook", URL: url, Token: "tok", Scheme: "Bearer", Credentials: "s3cret"}
		asks := a2asdk.Say("ask who?")
		asks.Push = &hook
		task := v.sends(t, asks)
		awaitNotes(t, notes, "input-required")
		v.sends(t, a2asdk.Continue(task, "me"))
		awaitNotes(t, notes, "completed")

		held := v.begins(t, "hold 1")
		hook.TaskID = held.ID
		made, err := v.CreatePush(hook)
		if err != nil || made.ID != "hook" || made.TaskID != held.ID || made.URL != url || made.Credentials != "" || made.Token != "" {
			t.Errorf("the configuration is %+v, %v", made, err)
		}
		second := hook
		second.ID, second.URL = "second", "https://hooks.example.com/a2a"
		if _, err := v.CreatePush(second); err != nil {
			t.Error(err)
		}
		if list, err := v.ListPush(held.ID); err != nil || len(list) != 2 {
			t.Errorf("the configurations are %+v, %v", list, err)
		}
		if err := v.DeletePush(held.ID, "second"); err != nil {
			t.Error(err)
		}
		if list, err := v.ListPush(held.ID); err != nil || len(list) != 1 || list[0].ID != "hook" {
			t.Errorf("the configurations are %+v, %v", list, err)
		}
		if one, err := v.GetPush(held.ID, "hook"); err != nil || one.URL != url || one.Scheme != "Bearer" {
			t.Errorf("the configuration is %+v, %v", one, err)
		}
		if _, err := v.GetPush(held.ID, "second"); a2asdk.Reason(err) != "TaskNotFound" {
			t.Errorf("an unknown configuration is %v", err)
		}
		v.hold("hold 1").release()
		awaitNotes(t, notes, "completed")
	})
}

func TestJavaScriptMayNotHaveThePrivateNetworkNotified(t *testing.T) {
	t.Parallel()
	forEachVisitor(t, func(t *testing.T, v visitor) {
		asks := a2asdk.Say("ask who?")
		for _, url := range []string{"http://example.com/", "https://10.0.0.7/", "https://127.0.0.2/", "https://[::ffff:10.0.0.7]/", "ftp://example.com/"} {
			asks.Push = &a2asdk.Push{URL: url}
			if _, err := v.Send(asks); err == nil || !strings.Contains(err.Error(), "the url of the push configuration") {
				t.Errorf("%s is notified: %v", url, err)
			}
		}
	})
}
