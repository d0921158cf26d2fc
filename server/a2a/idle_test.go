package a2a_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
)

// rawStreams are the ways to ask for a stream over HTTP. The %s is the id of a task or,
// where a message begins one, of the message.
var rawStreams = map[string]rawRequest{
	"SubscribeToTask": {
		line: "POST /a2a/clerk HTTP/1.1\r\nA2A-Version: 1.0", body: `{"jsonrpc":"2.0","id":"a-7","method":"SubscribeToTask","params":{"id":"%s"}}`, completed: newCompleted,
	},
	"tasks/resubscribe":   {line: "POST /a2a/clerk/v0.3 HTTP/1.1", body: `{"jsonrpc":"2.0","id":"a-7","method":"tasks/resubscribe","params":{"id":"%s"}}`, completed: oldCompleted},
	"GET :subscribe":      {line: "GET /a2a/clerk/tasks/%s:subscribe HTTP/1.1\r\nA2A-Version: 1.0", completed: newCompleted},
	"POST :subscribe":     {line: "POST /a2a/clerk/tasks/%s:subscribe HTTP/1.1\r\nA2A-Version: 1.0", completed: newCompleted},
	"GET :subscribe, 0.3": {line: "GET /a2a/clerk/v0.3/v1/tasks/%s:subscribe HTTP/1.1", completed: newCompleted},
	"SendStreamingMessage": {
		line: "POST /a2a/clerk HTTP/1.1\r\nA2A-Version: 1.0", begins: true, completed: newCompleted,
		body: `{"jsonrpc":"2.0","id":"a-7","method":"SendStreamingMessage","params":{"message":{"messageId":"%s","role":"ROLE_USER","parts":[{"text":"slow"}]}}}`,
	},
	"message/stream": {
		line: "POST /a2a/clerk/v0.3 HTTP/1.1", begins: true, completed: oldCompleted,
		body: `{"jsonrpc":"2.0","id":"a-7","method":"message/stream","params":{"message":{"kind":"message","messageId":"%s","role":"user","parts":[{"kind":"text","text":"slow"}]}}}`,
	},
	"message:stream": {
		line: "POST /a2a/clerk/message:stream HTTP/1.1\r\nA2A-Version: 1.0", begins: true, completed: newCompleted,
		body: `{"message":{"messageId":"%s","role":"ROLE_USER","parts":[{"text":"slow"}]}}`,
	},
	"message:stream, 0.3": {
		line: "POST /a2a/clerk/v0.3/v1/message:stream HTTP/1.1", begins: true, completed: newCompleted,
		body: `{"message":{"messageId":"%s","role":"ROLE_USER","content":[{"text":"slow"}]}}`,
	},
}

// What the state of a task is called that was completed.
const newCompleted, oldCompleted = "TASK_STATE_COMPLETED", `"completed"`

// rawRequest is a request for a stream.
type rawRequest struct {
	line, body string
	// begins is set when the request begins a task.
	begins    bool
	completed string
}

// open sends the request, on a connection for it alone, and returns the body of the
// answer.
func (r rawRequest) open(t *testing.T, w *world, id string) io.Reader {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	line, body := strings.Replace(r.line, "%s", id, 1), strings.Replace(r.body, "%s", id, 1)
	_, err = fmt.Fprintf(c, "%s\r\nHost: x\r\nAuthorization: Bearer alice\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", line, len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil) //nolint:bodyclose // that would read on
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") || resp.Header.Get("X-Request-Id") == "" {
		t.Fatal(resp.Status, resp.Header)
	}
	return resp.Body
}

func TestIdleStreamsAreSentWhole(t *testing.T) {
	const clients = 10
	w := open(t, speaksBoth)
	c := w.alice()
	for name, r := range rawStreams {
		release := make(chan struct{})
		slow := reply{chunks: []string{"hello, ", "you"}, hold: release}
		w.model.teach("slow", slow)
		w.model.teach(name, asks("1", "who?"), slow)
		var task *a2a.Task
		if !r.begins {
			task = send(t, c, request(user(name)))
		}
		streams := make([]io.Reader, clients)
		for i := range streams {
			id := fmt.Sprintf("%d of %s", i, name)
			if task != nil {
				id = string(task.ID)
			}
			streams[i] = r.open(t, w, id)
		}
		eventually(t, func() bool { return countFollowers() == clients })
		if task != nil {
			send(t, c, atOnce(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("me"))))
		}
		close(release)
		for _, s := range streams {
			holdFrames(t, name, s, r)
		}
	}
}

// holdFrames holds the frames of a stream of a task against what they are to be.
func holdFrames(t *testing.T, name string, body io.Reader, r rawRequest) {
	t.Helper()
	all, err := io.ReadAll(body)
	if err != nil {
		t.Errorf("%s: the stream breaks off: %v", name, err)
	}
	frames := slices.DeleteFunc(strings.Split(strings.TrimSuffix(string(all), "\n\n"), "\n\n"), func(f string) bool { return f == ": keep-alive" })
	for _, frame := range frames {
		id, data, _ := strings.Cut(frame, "\n")
		data, ok := strings.CutPrefix(data, "data: ")
		var fields map[string]any
		if err := json.Unmarshal([]byte(data), &fields); err != nil || !ok || !strings.HasPrefix(id, "id: ") {
			t.Fatalf("%s: a frame is %q, %v", name, frame, err)
		}
		if strings.HasPrefix(r.body, `{"jsonrpc"`) && (fields["id"] != "a-7" || fields["jsonrpc"] != "2.0" || fields["result"] == nil) {
			t.Errorf("%s: a frame is %q", name, frame)
		}
	}
	if last := frames[len(frames)-1]; !strings.Contains(last, r.completed) || len(frames) < 3 || !strings.Contains(string(all), "hello, ") {
		t.Errorf("%s: the stream is %q", name, all)
	}
}

func TestAnIdleStreamShowsThatItIsThere(t *testing.T) {
	w := open(t, speaksBoth, func(s *setup) { s.settings.KeepAlive = 5 * time.Millisecond })
	w.model.teach("slow", reply{chunks: []string{"hello, ", "you"}, hold: make(chan struct{})})
	w.model.teach("ask", asks("1", "who?"))
	task := send(t, w.alice(), request(user("ask")))
	for name, r := range rawStreams {
		id := string(task.ID)
		if r.begins {
			id = name
		}
		lines, signs := bufio.NewScanner(r.open(t, w, id)), 0
		for signs < 3 && lines.Scan() {
			if lines.Text() == ": keep-alive" {
				signs++
			}
		}
		if signs < 3 {
			t.Errorf("%s: it ends: %v", name, lines.Err())
		}
	}
}

func TestAStreamOverHTTP10IsTheSame(t *testing.T) {
	w := open(t, speaksBoth, func(s *setup) { s.settings.KeepAlive = 5 * time.Millisecond })
	for name, r := range rawStreams {
		release := make(chan struct{})
		slow := reply{chunks: []string{"hello, ", "you"}, hold: release}
		w.model.teach("slow", slow)
		w.model.teach(name, asks("1", "who?"), slow)
		id := name
		var task *a2a.Task
		if !r.begins {
			task = send(t, w.alice(), request(user(name)))
			id = string(task.ID)
		}
		r.line = strings.Replace(r.line, "HTTP/1.1", "HTTP/1.0", 1)
		all := bufio.NewReader(r.open(t, w, id))
		var begin strings.Builder
		for !strings.HasSuffix(begin.String(), "\n: keep-alive\n\n") {
			line, err := all.ReadString('\n')
			if begin.WriteString(line); err != nil {
				t.Fatalf("%s: it ends behind %q: %v", name, begin.String(), err)
			}
		}
		if task != nil {
			send(t, w.alice(), atOnce(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("me"))))
		}
		close(release)
		holdFrames(t, name, io.MultiReader(strings.NewReader(begin.String()), all), r)
	}
}

// An error after the first event of a stream is its last event.
func TestAFaultEndsAStreamThatHasBegun(t *testing.T) {
	w := open(t, func(s *setup) {
		s.service.EventTransform = func(_ context.Context, ev *event.Event) (*event.Event, error) {
			if ev.Terminal() {
				return nil, errors.New("a secret fault")
			}
			return ev, nil
		}
	})
	for _, over := range transports {
		release := make(chan struct{})
		w.model.teach("slow", reply{chunks: []string{"hello, ", "you"}, hold: release})
		var list []a2a.Event
		var ended error
		for ev, err := range w.client("alice", "clerk", over).SendStreamingMessage(t.Context(), request(user("slow"))) {
			if len(list) == 0 {
				close(release)
			}
			if ended = err; err == nil {
				list = append(list, ev)
			}
		}
		if len(list) == 0 || !errors.Is(ended, a2a.ErrInternalError) || strings.Contains(ended.Error(), "secret") {
			t.Errorf("%s: behind %d events it ends with %v", over, len(list), ended)
		}
	}
}

// countGoroutines returns how many goroutines have something on their stack.
func countGoroutines(what string) int {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, what) {
			n++
		}
	}
	return n
}
