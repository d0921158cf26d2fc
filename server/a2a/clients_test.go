package a2a_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestPlainNamesAreTakenInEveryBinding(t *testing.T) {
	w := open(t)
	const message = `{"message":{"message_id":"m","context_id":"mine","role":"ROLE_USER","parts":[{"text":"hello"}]},"configuration":{"history_length":0}}`
	for path, body := range map[string]string{"/a2a/clerk": rpc("SendMessage", message), "/a2a/clerk/message:send": message} {
		_, text := w.post(path, asJSON, body, "A2A-Version", "1.0")
		if !strings.Contains(text, `"contextId":"mine"`) || strings.Contains(text, `"history"`) {
			t.Errorf("%s answers %s", path, text)
		}
	}
	if _, text := w.post("/a2a/clerk", asJSON, rpc("ListTasks", `{"context_id":"mine","page_size":1,"history_length":1}`), "A2A-Version", "1.0"); !strings.Contains(text, `"totalSize":1`) || !strings.Contains(text, `"messageId":"m"`) {
		t.Errorf("the list is %s", text)
	}
	if _, text := w.plainly(http.MethodGet, "/a2a/clerk/tasks?context_id=mine&page_size=1&history_length=1", "", "A2A-Version", "1.0"); !strings.Contains(text, `"totalSize":1`) || !strings.Contains(text, `"messageId":"m"`) {
		t.Errorf("the list of HTTP is %s", text)
	}
}

func TestAnErrorInPlaceOfAStreamOfJSONRPCIsPlain(t *testing.T) {
	w := open(t)
	for path, bodies := range map[string]map[string]int{
		"/a2a/clerk": {
			rpc("SubscribeToTask", `{"id":"nothing"}`): -32001, rpc("SendStreamingMessage", `{"message":{}}`): -32602, rpc("SendStreamingMessage", `[]`): -32602,
		},
	} {
		for body, want := range bodies {
			resp, text := w.post(path, asJSON, body, "A2A-Version", "1.0", "Accept", "text/event-stream, application/json")
			if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != asJSON || resp.Header.Get("Cache-Control") == "no-cache" || !strings.Contains(text, `"id":7`) {
				t.Errorf("%s: the answer is %d %s %s", body, resp.StatusCode, resp.Header.Get("Content-Type"), text)
			} else if code := codeOf(t, text); code != want {
				t.Errorf("%s: the code is %d", body, code)
			}
		}
	}
	resp, text := w.post("/a2a/clerk", asJSON, rpc("SubscribeToTask", `{"id":"nothing"}`), "A2A-Version", "1.0", "Accept", "text/event-stream")
	if data, ok := strings.CutPrefix(text[strings.Index(text, "data:"):], "data:"); !ok || resp.Header.Get("Content-Type") != "text/event-stream" || codeOf(t, data) != -32001 {
		t.Errorf("a client that accepts only events is answered %s %s", resp.Header.Get("Content-Type"), text)
	}
	resp, text = w.post("/a2a/clerk", asJSON, rpc("SendStreamingMessage", hello), "A2A-Version", "1.0")
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") || !strings.Contains(text, "TASK_STATE_COMPLETED") {
		t.Errorf("the stream is %s %s", resp.Header.Get("Content-Type"), text)
	}
}

// TestWhatATaskUsedIsShownToThoseWhoAsk asks with the extension and without.
func TestWhatATaskUsedIsShownToThoseWhoAsk(t *testing.T) {
	w := open(t)
	for _, over := range transports {
		for name, shown := range map[string]bool{a2awire.Extension: true, "https://example.com/x": false} {
			c := w.client("alice", "clerk", over)
			ctx := a2aclient.AttachServiceParams(t.Context(), a2aclient.ServiceParams{"A2A-Extensions": {name}})
			res, err := c.SendMessage(ctx, request(user("hello")))
			if err != nil {
				t.Fatal(err)
			}
			task, _ := res.(*a2a.Task)
			got, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID})
			if err != nil || (task.Metadata[a2awire.Extension] != nil) != shown || (got.Metadata[a2awire.Extension] != nil) != shown {
				t.Errorf("%s with %s: the task has %v and %v, %v", over, name, task.Metadata, got.Metadata, err)
			}
			list, err := events(c.SendStreamingMessage(ctx, request(user("hello"))))
			if err != nil || len(list) == 0 {
				t.Fatalf("%s with %s: %v, %v", over, name, list, err)
			}
			if last := list[len(list)-1]; (last.Meta()[a2awire.Extension] != nil) != shown {
				t.Errorf("%s with %s: the last event has %v", over, name, last.Meta())
			}
		}
	}
	for header, shown := range map[string]bool{"A2A-Extensions": true, "X-A2A-Extensions": true, "X-Other": false} {
		_, text := w.post("/a2a/clerk", asJSON, rpc("SendMessage", hello), "A2A-Version", "1.0", header, "https://example.com/x, "+a2awire.Extension)
		if strings.Contains(text, `"usage"`) != shown {
			t.Errorf("with %s the answer is %s", header, text)
		}
	}
}

func TestACardSaysSinceWhenItIsSo(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.DefaultAgent = "clerk" })
	for _, path := range []string{"/.well-known/agent-card.json", "/.well-known/agents.json", "/a2a/clerk/.well-known/agent-card.json"} {
		resp, _ := w.do(http.MethodGet, path, "")
		at, err := http.ParseTime(resp.Header.Get("Last-Modified"))
		if err != nil || time.Since(at) > time.Hour || at.After(time.Now()) {
			t.Fatalf("%s is of %q", path, resp.Header.Get("Last-Modified"))
		}
		etag := resp.Header.Get("ETag")
		for name, c := range map[string]struct {
			header []string
			want   int
		}{
			"the same time":      {[]string{"If-Modified-Since", at.Format(http.TimeFormat)}, http.StatusNotModified},
			"later":              {[]string{"If-Modified-Since", at.Add(time.Hour).Format(http.TimeFormat)}, http.StatusNotModified},
			"earlier":            {[]string{"If-Modified-Since", at.Add(-time.Second).Format(http.TimeFormat)}, http.StatusOK},
			"nonsense":           {[]string{"If-Modified-Since", "yesterday"}, http.StatusOK},
			"the tag":            {[]string{"If-None-Match", etag}, http.StatusNotModified},
			"the tag, earlier":   {[]string{"If-None-Match", etag, "If-Modified-Since", at.Add(-time.Hour).Format(http.TimeFormat)}, http.StatusNotModified},
			"another tag, later": {[]string{"If-None-Match", `"x"`, "If-Modified-Since", at.Add(time.Hour).Format(http.TimeFormat)}, http.StatusOK},
		} {
			got, body := w.do(http.MethodGet, path, "", c.header...)
			if got.StatusCode != c.want || got.Header.Get("Last-Modified") == "" || c.want == http.StatusNotModified && body != "" {
				t.Errorf("%s, %s: %d %s", path, name, got.StatusCode, body)
			}
		}
	}
}

// raw returns the client of gRPC without the SDK, which gives errors other codes.
func (w *world) raw() apb.A2AServiceClient {
	conn, err := grpc.NewClient(w.surface.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	return apb.NewA2AServiceClient(conn)
}

func TestAnotherVersionOverGRPCIsNotImplemented(t *testing.T) {
	w := open(t)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer alice", "a2a-version", "9.9")
	if _, err := w.raw().GetTask(ctx, &apb.GetTaskRequest{Id: "x", Tenant: "clerk"}); status.Code(err) != codes.Unimplemented || len(status.Convert(err).Details()) == 0 {
		t.Errorf("the error is %v", err)
	}
}

func TestPushAddressesInUnusualFormsAreRefused(t *testing.T) {
	w := open(t, withPush(t))
	task := send(t, w.alice(), request(user("hello")))
	for _, host := range []string{
		"127.1", "127.0.1", "0x7f000001", "0x7f.1", "2130706433", "017700000001", "0177.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1]", "127.0.0.1",
		"localhost", "x.localhost.", "0", "0x7F.0.0.0x1", "127.0.0.1.", "10.1", "169.254.169.254", "[fe80::1]", "1.2.3.4.5", "example.0x1",
	} {
		params := fmt.Sprintf(`{"taskId":%q,"id":"h","url":"https://%s/hook"}`, task.ID, host)
		if _, body := w.post("/a2a/clerk", asJSON, rpc("CreateTaskPushNotificationConfig", params), "A2A-Version", "1.0"); codeOf(t, body) != -32602 {
			t.Errorf("%s is taken: %s", host, body)
		}
	}
	for _, host := range []string{"example.com", "1e100.net", "x0x1.example", "93.184.216.34", "[2606:4700::1]", "example.com."} {
		params := fmt.Sprintf(`{"taskId":%q,"id":"h","url":"https://%s/hook"}`, task.ID, host)
		if _, body := w.post("/a2a/clerk", asJSON, rpc("CreateTaskPushNotificationConfig", params), "A2A-Version", "1.0"); codeOf(t, body) != 0 {
			t.Errorf("%s is refused: %s", host, body)
		}
	}
}

// TestWithoutPushATaskIsNotLookedUp asks for the push configurations of a task that does
// not exist. The protocol wants the missing capability reported, not the missing task.
func TestWithoutPushATaskIsNotLookedUp(t *testing.T) {
	w := open(t, withPush(t), func(s *setup) { s.settings.NoPush = true })
	const task = a2a.TaskID("gone")
	operations := map[string]func(*a2aclient.Client) error{
		"create": func(c *a2aclient.Client) error {
			_, err := c.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: task, ID: "h", URL: "https://hooks.example.com"})
			return err
		},
		"get": func(c *a2aclient.Client) error {
			_, err := c.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigRequest{TaskID: task, ID: "h"})
			return err
		},
		"list": func(c *a2aclient.Client) error {
			_, err := c.ListTaskPushConfigs(t.Context(), &a2a.ListTaskPushConfigRequest{TaskID: task})
			return err
		},
		"delete": func(c *a2aclient.Client) error {
			return c.DeleteTaskPushConfig(t.Context(), &a2a.DeleteTaskPushConfigRequest{TaskID: task, ID: "h"})
		},
	}
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		for name, ask := range operations {
			if err := ask(c); !errors.Is(err, a2a.ErrPushNotificationNotSupported) {
				t.Errorf("%s over %s: %v", name, over, err)
			}
		}
	}
}
