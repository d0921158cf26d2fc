package a2asdk

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// echo is the smallest agent of the Go SDK.
type echo struct{}

func (echo) Execute(_ context.Context, e *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		_ = yield(a2a.NewSubmittedTask(e, e.Message), nil) &&
			yield(a2a.NewArtifactEvent(e, e.Message.Parts...), nil) &&
			yield(a2a.NewStatusUpdateEvent(e, a2a.TaskStateCompleted, nil), nil)
	}
}

func (echo) Cancel(_ context.Context, e *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(e, a2a.TaskStateCanceled, nil), nil)
	}
}

// stock serves the Go SDK's own handler in a protocol version and returns its base URL.
func stock(t *testing.T, v Version) string {
	t.Helper()
	handler := a2asrv.NewHandler(echo{})
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	protocol, rpc, rest := a2a.ProtocolVersion("1.0"), a2asrv.NewJSONRPCHandler(handler), a2asrv.NewRESTHandler(handler)
	if v == V03 {
		protocol, rpc, rest = a2av0.Version, a2av0.NewJSONRPCHandler(handler), a2av0.NewRESTHandler(handler)
	}
	card := &a2a.AgentCard{
		Name: "stock", Description: "An echo.", Version: "1",
		Capabilities:      a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{},
	}
	for path, transport := range map[string]a2a.TransportProtocol{"/rpc": a2a.TransportProtocolJSONRPC, "/rest": a2a.TransportProtocolHTTPJSON} {
		i := a2a.NewAgentInterface(s.URL+path, transport)
		i.ProtocolVersion = protocol
		card.SupportedInterfaces = append(card.SupportedInterfaces, i)
	}
	mux.Handle("/rpc", rpc)
	mux.Handle("/rest/", http.StripPrefix("/rest", rest))
	if v == V03 {
		mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewAgentCardHandler(a2av0.NewStaticAgentCardProducer(card)))
	} else {
		mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	}
	return s.URL
}

func TestTheClientsUnderstandTheGoSDK(t *testing.T) {
	t.Parallel()
	ForEach(t, func(t *testing.T, v Version, transport string) {
		c := NewClient(t, v, stock(t, v), ClientOptions{Transport: transport})
		r, err := c.Send(Say("hello"))
		if err != nil || r.Task == nil || r.Task.State != "completed" || r.Task.Text() != "hello" {
			t.Fatalf("the reply is %+v, %v", r.Task, err)
		}
		if task, err := c.Get(r.Task.ID, nil); err != nil || task.ContextID != r.Task.ContextID {
			t.Errorf("the task is %+v, %v", task, err)
		}
		events, err := Collect(c.Stream(Say("again")))
		if err != nil || Assembled(events) != "again" || events[len(events)-1].State() != "completed" {
			t.Errorf("the stream is %+v, %v", events, err)
		}
		// The Go SDK reports REST errors in version 0.3 in the form of 1.0.
		if _, err := c.Get("nosuch", nil); Reason(err) != "TaskNotFound" && (v != V03 || Reason(err) != "HTTP 404") {
			t.Errorf("an unknown task is %v", err)
		}
	})
}
