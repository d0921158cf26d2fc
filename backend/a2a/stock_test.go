package a2a

import (
	"context"
	"encoding/json"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// clerk is an agent on the SDK's own server.
type clerk struct{}

func (clerk) Execute(ctx context.Context, c *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		text := c.Message.Parts[0].Text()
		say := func(state a2a.TaskState, text string) bool {
			return yield(a2a.NewStatusUpdateEvent(c, state, a2a.NewMessageForTask(a2a.MessageRoleAgent, c, a2a.NewTextPart(text))), nil)
		}
		if text == "message" {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("no task")), nil)
			return
		}
		if c.StoredTask == nil && !yield(a2a.NewSubmittedTask(c, c.Message), nil) {
			return
		}
		switch text {
		case "ask":
			say(a2a.TaskStateInputRequired, "Which colour?")
			return
		case "wait":
			say(a2a.TaskStateWorking, "waiting")
			<-ctx.Done()
			return
		case "parts":
			report := a2a.NewFileURLPart("https://files.example/report.pdf", "application/pdf")
			if yield(a2a.NewArtifactEvent(c, a2a.NewTextPart("a text"), a2a.NewDataPart(map[string]any{"rows": []any{1.0, 2.0}}), report), nil) {
				yield(a2a.NewStatusUpdateEvent(c, a2a.TaskStateCompleted, nil), nil)
			}
			return
		}
		first := a2a.NewArtifactEvent(c, a2a.NewTextPart("You said "))
		if yield(first, nil) && yield(a2a.NewArtifactUpdateEvent(c, first.Artifact.ID, a2a.NewTextPart(text)), nil) {
			yield(a2a.NewStatusUpdateEvent(c, a2a.TaskStateCompleted, nil), nil)
		}
	}
}

func (clerk) Cancel(_ context.Context, c *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(c, a2a.TaskStateCanceled, nil), nil)
	}
}

// serveStock serves a clerk over a transport and returns its endpoint.
func serveStock(t *testing.T, transport string) *spec.Endpoint {
	t.Helper()
	handler := a2asrv.NewHandler(clerk{})
	card := peertest.CardOf("")
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+client.WellKnown, func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, card) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	e := &spec.Endpoint{BaseURL: server.URL}
	switch transport {
	case "jsonrpc":
		mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
		card.SupportedInterfaces = []*a2a.AgentInterface{a2a.NewAgentInterface(server.URL+"/rpc", a2a.TransportProtocolJSONRPC)}
	case "rest":
		mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
		card.SupportedInterfaces = []*a2a.AgentInterface{a2a.NewAgentInterface(server.URL+"/rest", a2a.TransportProtocolHTTPJSON)}
	case "grpc":
		e.Auth = &spec.Auth{Type: spec.AuthClientCredentials, TokenURL: peertest.Issuer(t), ClientID: "me", ClientSecret: "hush"}
		address := listenGRPC(t, handler)
		card.SupportedInterfaces = []*a2a.AgentInterface{a2a.NewAgentInterface(address, a2a.TransportProtocolGRPC)}
		e.Options = map[string]json.RawMessage{"allow_origins": json.RawMessage(`["http://` + address + `"]`)}
	}
	return e
}

// listenGRPC serves an agent to callers that do not send the issuer's first token.
func listenGRPC(t *testing.T, handler a2asrv.RequestHandler) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	check := func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		if got := md.Get("authorization"); len(got) != 1 || got[0] == "Bearer token-1" {
			return status.Error(codes.Unauthenticated, "no")
		}
		return nil
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := check(ctx); err != nil {
				return nil, err
			}
			return next(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := check(stream.Context()); err != nil {
				return err
			}
			return next(srv, stream)
		}),
	)
	a2agrpc.NewHandler(handler).RegisterWith(server)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	return listener.Addr().String()
}

// Each transport reaches the SDK's own server, with and without streams.
func TestTheSDKsServerIsAPeer(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"jsonrpc", "rest", "grpc"} {
		for name, stream := range map[string]bool{"streamed": true, "polled": false} {
			t.Run(transport+" "+name, func(t *testing.T) {
				t.Parallel()
				e := serveStock(t, transport)
				e.Timeout = new(spec.Duration(time.Minute))
				r := &rig{t: t, remote: remoteOf(t, e), host: &turnHost{session: tools.NoSession}, job: newJob()}
				r.remote.peer.Options.Stream = stream
				res, err := r.run(t.Context())
				if err != nil || res.Response != "You said hello" || r.host.text() != res.Response {
					t.Errorf("%+v, %v, %q is shown", res, err, r.host.text())
				}

				r.job = newJob()
				r.job.TurnID, r.job.Input[0].Parts[0].Text = "turn-2", "ask"
				state, request := r.wait()
				if request.Message != "Which colour?" {
					t.Errorf("it asks %+v", request)
				}
				r.next(state, resume(request.ID, `"blue"`))
				r.remote.peer.Options.Stream = stream
				if res, err = r.run(t.Context()); err != nil || res.Response != "You said blue" {
					t.Errorf("%+v, %v", res, err)
				}

				r.job = newJob()
				r.job.TurnID, r.job.Input[0].Parts[0].Text = "turn-3", "wait"
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r.host.emitted = func(data event.Data) {
					if _, ok := data.(*event.ActivitySnapshot); ok {
						cancel()
					}
				}
				res, err = r.run(ctx)
				if got := termination(res, err); got.Type != event.Canceled {
					t.Errorf("it ends by %+v", got)
				}
				last, ok := r.host.events[len(r.host.events)-2].(*event.ActivitySnapshot)
				if !ok || activityOf(t, last).State != "canceled" {
					t.Errorf("the task is %+v", last)
				}
			})
		}
	}
}

// Content other than task text is read the same over each transport: a message as answer, data, and
// a file's address.
func TestTheAnswersOfTheSDKsServerAreReadAlike(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"jsonrpc", "rest", "grpc"} {
		for name, stream := range map[string]bool{"streamed": true, "polled": false} {
			t.Run(transport+" "+name, func(t *testing.T) {
				t.Parallel()
				e := serveStock(t, transport)
				e.Timeout = new(spec.Duration(time.Minute))
				r := &rig{t: t, remote: remoteOf(t, e), host: &turnHost{session: tools.NoSession}}
				r.remote.peer.Options.Stream = stream
				for text, want := range map[string]string{
					"message": "no task", "parts": "a text\n{\"rows\":[1,2]}\n[file (application/pdf) is at https://files.example/report.pdf]",
				} {
					r.job = newJob()
					r.job.TurnID, r.job.Input[0].Parts[0].Text = text, text
					if res, err := r.run(t.Context()); err != nil || res.Response != want {
						t.Errorf("%q is answered with %+v, %v", text, res, err)
					}
				}
			})
		}
	}
}
