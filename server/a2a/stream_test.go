package a2a_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestAStreamShowsTheTaskAndWhatBecomesOfIt(t *testing.T) {
	w := open(t)
	w.model.teach("tell", says("once ", "upon ", "a time"))
	for _, over := range transports {
		list, err := events(w.client("alice", "clerk", over).SendStreamingMessage(t.Context(), request(user("tell"))))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := list[0].(*a2a.Task); !ok {
			t.Errorf("%s: the first event is a %T", over, list[0])
		}
		content, ended := assembled(list)
		if content["response"] != "once upon a time" || !ended["response"] {
			t.Errorf("%s: the answer is %q, ended: %v", over, content["response"], ended)
		}
		if got := states(list); !slices.Equal(got[max(0, len(got)-2):], []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted}) {
			t.Errorf("%s: the states are %v", over, got)
		}
		last, ok := list[len(list)-1].(*a2a.TaskStatusUpdateEvent)
		if !ok {
			t.Fatalf("%s: the last event is a %T", over, list[len(list)-1])
		}
		if report, err := a2awire.ReportOf(last.Metadata); err != nil || report == nil || report.Usage.Output != 5 {
			t.Errorf("%s: the report is %+v, %v", over, report, err)
		}
	}
}

func TestAStreamIsFollowedByOneGoroutine(t *testing.T) {
	w := open(t)
	w.model.teach("ask", asks("1", "who?"))
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		task := send(t, c, request(user("ask")))
		ctx, cancel := context.WithCancel(t.Context())
		for range c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}) {
			var followers int
			eventually(t, func() bool { followers = countFollowers(); return followers > 0 })
			if followers != 1 {
				t.Errorf("%s: %d goroutines follow", over, followers)
			}
			break // more comes only with an answer
		}
		cancel()
		eventually(t, func() bool { return countFollowers() == 0 }) // those of the next transport count alone
	}
}

// countFollowers returns how many goroutines follow turns.
func countFollowers() int { return countGoroutines("server/a2a.(*follower)") }

func TestAStreamHasFewEventsHoweverManyChunksThereAre(t *testing.T) {
	w := open(t)
	chunk := strings.Repeat("x", 40)
	sizes := map[int]int{}
	for _, n := range []int{500, 4000} {
		w.model.teach(fmt.Sprint(n), says(slices.Repeat([]string{chunk}, n)...))
		begun := time.Now()
		list, err := events(w.alice().SendStreamingMessage(t.Context(), request(user(fmt.Sprint(n)))))
		if err != nil {
			t.Fatal(err)
		}
		content, _ := assembled(list)
		if len(content["response"]) != n*len(chunk) {
			t.Errorf("%d bytes of %d came", len(content["response"]), n*len(chunk))
		}
		data, err := json.Marshal(list[1:])
		if err != nil {
			t.Fatal(err)
		}
		sizes[n] = len(data)
		// One for each 4 KiB and each 100 ms, and what frames them.
		if most := n*len(chunk)/(4<<10) + int(time.Since(begun)/(100*time.Millisecond)) + 8; len(list) > most {
			t.Errorf("%d chunks came in %d events, more than %d", n, len(list), most)
		}
	}
	if sizes[4000] > 10*sizes[500] {
		t.Errorf("8 times the chunks take %d bytes instead of %d", sizes[4000], sizes[500])
	}
}

func BenchmarkFourThousandChunks(b *testing.B) {
	w := open(b)
	w.model.teach("much", says(slices.Repeat([]string{strings.Repeat("x", 40)}, 4000)...))
	c := w.alice()
	b.ReportAllocs()
	for b.Loop() {
		list, err := events(c.SendStreamingMessage(b.Context(), request(user("much"))))
		if content, _ := assembled(list); err != nil || len(content["response"]) != 160_000 {
			b.Fatal(err, len(content["response"]))
		}
	}
}

func TestTheAnswerIsWhatTheModelSaysLast(t *testing.T) {
	w := open(t, withTool("nothing", func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult("nothing"), nil }))
	first := asksNothing("1")
	first.chunks = []string{"let me look"}
	w.model.teach("look", first, says("it is", " there"))
	list, err := events(w.alice().SendStreamingMessage(t.Context(), request(user("look"))))
	if err != nil {
		t.Fatal(err)
	}
	content, ended := assembled(list)
	if content["response"] != "it is there" || !ended["response"] {
		t.Errorf("the answer is %q", content["response"])
	}
}

func TestWhoSubscribesSeesTheWholeAnswer(t *testing.T) {
	w := open(t)
	for _, over := range transports {
		release := make(chan struct{})
		w.model.teach("slow", reply{chunks: []string{"first, ", "second, ", "third"}, hold: release})
		c := w.client("alice", "clerk", over)
		task := send(t, c, atOnce(user("slow")))
		reach(t, c, task.ID, a2a.TaskStateWorking)
		eventually(t, func() bool { return w.seen(t, task.ID, event.TypeTextDelta) })
		var list []a2a.Event
		for ev, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				snapshot, ok := ev.(*a2a.Task)
				if !ok || answerOf(snapshot) != "first, " || snapshot.Status.State != a2a.TaskStateWorking {
					t.Errorf("%s: the first event is %+v", over, ev)
				}
				close(release)
			}
			list = append(list, ev)
		}
		if content, ended := assembled(list); content["response"] != "first, second, third" || !ended["response"] {
			t.Errorf("%s: the answer is %q", over, content["response"])
		}
		if _, err := events(c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID})); err == nil {
			t.Errorf("%s: a task that has ended can be subscribed to", over)
		}
	}
	c := w.alice()
	task := send(t, c, request(user("hello")))
	if _, err := events(c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID})); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Errorf("the error of a task that has ended is %v", err)
	}
}

func TestArtifactsAreSentInChunks(t *testing.T) {
	picture := make([]byte, 3<<20)
	for i := range picture {
		picture[i] = byte(i * 7)
	}
	text := strings.Repeat("<\u00e4\u2028\">", 200<<10)
	w := open(t, withTool("nothing", func(_ context.Context, call *tools.Call) (tools.Result, error) {
		for _, a := range []tools.Artifact{{Name: "picture", MediaType: "image/png", Data: picture}, {Name: "text", MediaType: "text/plain", Data: []byte(text)}} {
			if _, err := call.Session.KeepArtifact(a); err != nil {
				return tools.Result{}, err
			}
		}
		return tools.TextResult("kept"), nil
	}))
	w.model.teach("draw", asksNothing("1"), says("here"))
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		list, err := events(c.SendStreamingMessage(t.Context(), request(user("draw"))))
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]string{}
		for _, ev := range list {
			data, err := json.Marshal(a2a.StreamResponse{Event: ev})
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > 1<<20 {
				t.Errorf("%s: an event has %d bytes", over, len(data))
			}
			if a, ok := ev.(*a2a.TaskArtifactUpdateEvent); ok {
				named[a.Artifact.Name] = string(a.Artifact.ID)
			}
		}
		content, ended := assembled(list)
		if content[named["picture"]] != string(picture) || content[named["text"]] != text || !ended[named["picture"]] || !ended[named["text"]] {
			t.Errorf("%s: the artifacts have %d and %d bytes", over, len(content[named["picture"]]), len(content[named["text"]]))
		}
		if over == a2a.TransportProtocolGRPC {
			continue // an answer of gRPC has at most 4 MiB
		}
		task := get(t, c, list[0].TaskInfo().TaskID)
		if len(task.Artifacts) != 3 || contentOf(task.Artifacts[1]) != string(picture) || contentOf(task.Artifacts[2]) != text {
			t.Errorf("%s: the task has %d artifacts", over, len(task.Artifacts))
		}
	}
}

func TestASubscriberThatStallsDelaysNobody(t *testing.T) {
	w := open(t)
	chunk := strings.Repeat("x", 64<<10)
	release := make(chan struct{})
	w.model.teach("much", reply{chunks: append([]string{"begin "}, slices.Repeat([]string{chunk}, 200)...), hold: release})
	c := w.alice()
	task := send(t, c, atOnce(user("much")))
	reach(t, c, task.ID, a2a.TaskStateWorking)
	stalled := w.stall(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":%q}}`, task.ID))
	defer stalled.Close()
	close(release)
	list, err := events(c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}))
	if err != nil && !errors.Is(err, a2a.ErrUnsupportedOperation) { // it may have ended by then
		t.Fatal(err)
	}
	if content, _ := assembled(list); err == nil && len(content["response"]) != 200*len(chunk)+6 {
		t.Errorf("the other subscriber saw %d bytes", len(content["response"]))
	}
	reach(t, c, task.ID, a2a.TaskStateCompleted)
}

func TestAClientOfGRPCThatStallsLosesItsStream(t *testing.T) {
	core, logged := observer.New(zap.DebugLevel)
	w := open(t, func(s *setup) {
		s.settings.WriteTimeout, s.settings.Logger = 50*time.Millisecond, zap.New(core)
	})
	w.model.teach("much", says(slices.Repeat([]string{strings.Repeat("x", 256<<10)}, 40)...))
	conn, err := grpc.NewClient(w.surface.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer alice")
	stream, err := a2apb.NewA2AServiceClient(conn).SendStreamingMessage(ctx, &a2apb.SendMessageRequest{Tenant: "clerk", Message: &a2apb.Message{
		MessageId: "m1", Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "much"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	reach(t, w.alice(), a2a.TaskID(first.GetTask().GetId()), a2a.TaskStateCompleted)
	eventually(t, func() bool { return logged.FilterMessageSnippet("takes nothing in").Len() > 0 })
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Aborted {
		t.Errorf("the stream ends with %v", err)
	}
}

func TestAStreamShowsTheEndThoughTheLogHidesIt(t *testing.T) {
	w := open(t, func(s *setup) {
		s.service.EventTransform = func(_ context.Context, ev *event.Event) (*event.Event, error) {
			if ev.Terminal() {
				return nil, nil //nolint:nilnil // it is left out
			}
			return ev, nil
		}
	})
	w.model.teach("ask", asks("1", "who?"), says("hello"))
	for _, text := range []string{"hello", "ask"} {
		c := w.alice()
		list, err := events(c.SendStreamingMessage(t.Context(), request(user(text))))
		if err != nil {
			t.Fatal(err)
		}
		if text == "ask" {
			list, err = events(c.SendStreamingMessage(t.Context(), request(a2a.NewMessageForTask(a2a.MessageRoleUser, list[0].TaskInfo(), a2a.NewTextPart("me")))))
		}
		content, ended := assembled(list)
		if got := states(list); err != nil || got[len(got)-1] != a2a.TaskStateCompleted || content["response"] == "" || !ended["response"] {
			t.Errorf("the stream has %v, %q, %v", got, content["response"], err)
		}
	}
}

func TestStreamsEndWhenTheServerDrains(t *testing.T) {
	w := open(t)
	w.model.teach("slow", reply{chunks: []string{"never", ""}, hold: make(chan struct{})})
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		for ev, err := range c.SendStreamingMessage(t.Context(), request(user("slow"))) {
			if err != nil || ev == nil {
				t.Fatal(err)
			}
			if over == a2a.TransportProtocolGRPC {
				go func() { _ = w.drain() }()
				continue
			}
			break
		}
	}
	if err := w.drain(); err != nil {
		t.Error(err)
	}
}

// stall sends a request whose answer is never read.
func (w *world) stall(t *testing.T, body string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(1 << 10)
	}
	_, err = fmt.Fprintf(conn, "POST /a2a/clerk HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 200"))); err != nil {
		t.Fatal(err)
	}
	return conn
}

// withTool adds a tool.
func withTool(id string, call toolFunc) option {
	return func(s *setup) { s.tools[id] = call }
}

// seen reports whether the log of a task has an event.
func (w *world) seen(t testing.TB, id a2a.TaskID, kind event.Type) bool {
	t.Helper()
	p, err := principals{}.Authenticate(&http.Request{Header: http.Header{"Authorization": {"Bearer alice"}}})
	if err != nil {
		t.Fatal(err)
	}
	records, err := w.service.ReadEvents(t.Context(), p.Caller, string(id), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(records, func(r event.Record) bool { return r.Type == kind })
}

// eventually asks again until it is so.
func eventually(t testing.TB, is func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatal("it never was so")
		}
	}
}
