package a2abackend

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/spec"
)

// examine returns the checks of an endpoint's peer, by their names.
func examine(t *testing.T, e *spec.Endpoint, header http.Header) map[string]backend.Check {
	t.Helper()
	found, err := NewFactory(Settings{}).Examine(t.Context(), e, header)
	if err != nil {
		t.Fatal(err)
	}
	checks := make(map[string]backend.Check, len(found.Checks))
	for _, c := range found.Checks {
		if c.Seen == "" || (c.Want == "") != (c.Outcome == backend.OutcomeOK) {
			t.Errorf("the check is %+v", c)
		}
		checks[c.Name] = c
	}
	return checks
}

// stockAgent is an agent that has no tasks, on the handlers of the SDK.
type stockAgent struct{ a2asrv.RequestHandler }

func (stockAgent) GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) {
	return nil, a2a.ErrTaskNotFound
}

func (stockAgent) SubscribeToTask(context.Context, *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { yield(nil, a2a.ErrTaskNotFound) }
}

func (stockAgent) ListTaskPushConfigs(context.Context, *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

func TestTheHandlersOfTheSDKAreExamined(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	card := cardOf(server.URL + "/rpc")
	card.SupportedInterfaces = append(card.SupportedInterfaces, a2a.NewAgentInterface(server.URL+"/rest", a2a.TransportProtocolHTTPJSON))
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(stockAgent{}))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(stockAgent{})))
	mux.HandleFunc(wellKnown, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, card) })
	checks := examine(t, &spec.Endpoint{BaseURL: server.URL}, nil)
	for name, want := range map[string]backend.Outcome{
		"card location": backend.OutcomeOK, "choice": backend.OutcomeOK,
		"interface 0 unknown task": backend.OutcomeOK, "interface 1 unknown task": backend.OutcomeOK,
		"interface 0 streaming": backend.OutcomeOK, "interface 1 streaming": backend.OutcomeOK,
		"interface 0 push notifications": backend.OutcomeOK, "interface 1 push notifications": backend.OutcomeOK,
		// The handlers do not look at the version.
		"interface 0 version": backend.OutcomeWarning, "interface 1 version": backend.OutcomeWarning,
		"card caching": backend.OutcomeWarning,
	} {
		if got := checks[name]; got.Outcome != want {
			t.Errorf("%s is %+v, want %s", name, got, want)
		}
	}
}

func TestAnAgentOverGRPCIsExamined(t *testing.T) {
	t.Parallel()
	p := serveGRPC(t, &grpcAgent{})
	header := http.Header{"Authorization": {"Bearer token-2"}}
	e := *p.endpoint
	e.Auth = nil
	if got := examine(t, &e, header)["interface 0 unknown task"]; got.Outcome != backend.OutcomeOK {
		t.Errorf("the check is %+v", got)
	}
	got := examine(t, &e, nil)["interface 0 unknown task"]
	if got.Outcome != backend.OutcomeError || !strings.Contains(got.Seen, "401") {
		t.Errorf("the check without a credential is %+v", got)
	}
}

func TestAPeerThatIsDownIsExamined(t *testing.T) {
	t.Parallel()
	down := newHost(t).endpoint("")
	down.BaseURL = "http://127.0.0.1:1" // a port that is given to nobody
	checks := examine(t, down, nil)
	if got := checks["card location"]; got.Outcome != backend.OutcomeError || !strings.Contains(got.Seen, "refused") || len(checks) != 2 {
		t.Errorf("the checks are %+v", checks)
	}
}

func TestWhatCannotBeExamined(t *testing.T) {
	t.Parallel()
	if _, err := NewFactory(Settings{}).Examine(t.Context(), &spec.Endpoint{BaseURL: "peer"}, nil); err == nil {
		t.Error("there is no URL to look at")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewFactory(Settings{}).Examine(ctx, newHost(t).endpoint(""), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// A header is a credential: it goes to no origin that the endpoint does not name.
func TestAnInterfaceThatIsPassedOverIsNoErrorOfThePeer(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for name, tt := range map[string]struct {
		at   []string
		want backend.Outcome
	}{
		"with another one": {[]string{"http://127.0.0.1:1", h.URL}, backend.OutcomeWarning},
		"by itself":        {[]string{"http://127.0.0.1:1"}, backend.OutcomeError},
	} {
		card := cardOf(tt.at[0])
		for _, at := range tt.at[1:] {
			card.SupportedInterfaces = append(card.SupportedInterfaces, a2a.NewAgentInterface(at, a2a.TransportProtocolJSONRPC))
		}
		h.answer(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, card) }, rpcAnswer("error", `{"code":-32001,"message":"no such task"}`))
		if got := examine(t, h.endpoint(""), nil)["interface 0"]; got.Outcome != tt.want {
			t.Errorf("%s: the check is %+v", name, got)
		}
	}
}

func TestTheHeaderOfAnExaminationGoesToThePeer(t *testing.T) {
	t.Parallel()
	other := newHost(t)
	h := newHost(t)
	card := cardOf(other.URL)
	card.SupportedInterfaces = append(card.SupportedInterfaces, a2a.NewAgentInterface(h.URL, a2a.TransportProtocolJSONRPC))
	h.answer(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, card) },
		rpcAnswer("error", `{"code":-32600,"message":"your hush-hush is no good"}`))
	checks := examine(t, h.endpoint(""), http.Header{"X-Token": {"hush-hush"}})
	if got := checks["interface 0"]; got.Outcome != backend.OutcomeWarning || len(other.seen()) != 0 {
		t.Errorf("the check is %+v, %d requests elsewhere", got, len(other.seen()))
	}
	for _, r := range h.seen() {
		if r.Header.Get("X-Token") != "hush-hush" {
			t.Errorf("%s %s has no header", r.Method, r.URL)
		}
	}
	for _, c := range checks {
		if strings.Contains(c.Seen+c.Want, "hush") {
			t.Errorf("a check shows a secret: %+v", c)
		}
	}
}

func TestTheSignatureIsExaminedWithTheKeysThatAreKnown(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	checks := examine(t, h.endpoint(`{"signatures":"required","signature_keys":{"keys":[`+publicKey+`]}}`), nil)
	if got := checks["signature"]; got.Outcome != backend.OutcomeError || got.Seen != "the agent card is not signed" {
		t.Errorf("the check is %+v", got)
	}
}

// Whatever the peer answers, there are checks and no panic.
func TestAnythingIsExamined(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "null", "[]", "{}", `{"name":null,"supportedInterfaces":[null]}`, `{"error":{"code":-32001,"details":[null]}}`, "data: x\n\n", "\xff"} {
		for _, kind := range []string{"", "text/event-stream", "application/json"} {
			h := newHost(t)
			h.answer(nil, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				_, _ = w.Write([]byte(body))
			})
			if checks := examine(t, h.endpoint(""), nil); len(checks) < 8 {
				t.Errorf("%q as %q: %d checks", body, kind, len(checks))
			}
			h.answer(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				_, _ = w.Write([]byte(body))
			}, nil)
			examine(t, h.endpoint(""), nil)
		}
	}
}
