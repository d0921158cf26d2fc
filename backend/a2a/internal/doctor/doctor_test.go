package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// findings returns the checks of an endpoint's peer by name.
func findings(t *testing.T, e *spec.Endpoint, header http.Header) map[string]backend.Check {
	t.Helper()
	found, err := Examine(t.Context(), e, header)
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

// stockAgent is an agent without tasks, on the handlers of the SDK.
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
	card := peertest.CardOf(server.URL + "/rpc")
	card.SupportedInterfaces = append(card.SupportedInterfaces, a2a.NewAgentInterface(server.URL+"/rest", a2a.TransportProtocolHTTPJSON))
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(stockAgent{}))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(stockAgent{})))
	mux.HandleFunc(client.WellKnown, func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, card) })
	checks := findings(t, &spec.Endpoint{BaseURL: server.URL}, nil)
	for name, want := range map[string]backend.Outcome{
		"card location": backend.OutcomeOK, "choice": backend.OutcomeOK,
		"interface 0 unknown task": backend.OutcomeOK, "interface 1 unknown task": backend.OutcomeOK,
		"interface 0 streaming": backend.OutcomeOK, "interface 1 streaming": backend.OutcomeOK,
		"interface 0 push notifications": backend.OutcomeOK, "interface 1 push notifications": backend.OutcomeOK,
		// The handlers ignore the version.
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
	reached := peertest.ServeGRPC(t, &peertest.GRPCAgent{})
	header := http.Header{"Authorization": {"Bearer token-2"}}
	e := *reached
	e.Auth = nil
	if got := findings(t, &e, header)["interface 0 unknown task"]; got.Outcome != backend.OutcomeOK {
		t.Errorf("the check is %+v", got)
	}
	got := findings(t, &e, nil)["interface 0 unknown task"]
	if got.Outcome != backend.OutcomeError || !strings.Contains(got.Seen, "401") {
		t.Errorf("the check without a credential is %+v", got)
	}
}

func TestAPeerThatIsDownIsExamined(t *testing.T) {
	t.Parallel()
	down := peertest.NewHost(t).Endpoint("")
	down.BaseURL = "http://127.0.0.1:1" // a port that is given to nobody
	checks := findings(t, down, nil)
	if got := checks["card location"]; got.Outcome != backend.OutcomeError || !strings.Contains(got.Seen, "refused") || len(checks) != 2 {
		t.Errorf("the checks are %+v", checks)
	}
}

func TestWhatCannotBeExamined(t *testing.T) {
	t.Parallel()
	if _, err := Examine(t.Context(), &spec.Endpoint{BaseURL: "peer"}, nil); err == nil {
		t.Error("there is no URL to look at")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Examine(ctx, peertest.NewHost(t).Endpoint(""), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// An id that a delegation rejects is a peer error; an invalid id that it accepts is a warning.
func TestAnExaminationJudgesIDsAsADelegationDoes(t *testing.T) {
	t.Parallel()
	for name, tt := range peertest.AnswersOf {
		answer := strings.ReplaceAll(tt.Answer, `"result":RESULT`, `"error":{"code":-32001,"message":"x"}`)
		answer = strings.ReplaceAll(answer, `"error":null,`, "")
		answer = strings.ReplaceAll(answer, "-32700", "-32001")
		h := peertest.NewHost(t)
		h.Answer(nil, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost { // a list of agents is no call
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", client.TypeJSON)
			_, _ = io.WriteString(w, answer)
		})
		taken := errors.Is(askTask(t, h.Endpoint("")), a2a.ErrTaskNotFound)
		checks := findings(t, h.Endpoint(""), nil)
		for _, check := range []string{"interface 0 unknown task", "interface 0 streaming"} {
			if got, done := checks[check]; done && taken == (got.Outcome == backend.OutcomeError) {
				t.Errorf("%s: a delegation takes it: %v, but the check is %+v", name, taken, got)
			}
		}
	}
}

// A header is a credential: it goes only to origins that the endpoint names.
func TestAnInterfaceThatIsPassedOverIsNoErrorOfThePeer(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	for name, tt := range map[string]struct {
		at   []string
		want backend.Outcome
	}{
		"with another one": {[]string{"http://127.0.0.1:1", h.URL}, backend.OutcomeWarning},
		"by itself":        {[]string{"http://127.0.0.1:1"}, backend.OutcomeError},
	} {
		card := peertest.CardOf(tt.at[0])
		for _, at := range tt.at[1:] {
			card.SupportedInterfaces = append(card.SupportedInterfaces, a2a.NewAgentInterface(at, a2a.TransportProtocolJSONRPC))
		}
		h.Answer(func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, card) }, peertest.RPCAnswer("error", `{"code":-32001,"message":"no such task"}`))
		if got := findings(t, h.Endpoint(""), nil)["interface 0"]; got.Outcome != tt.want {
			t.Errorf("%s: the check is %+v", name, got)
		}
	}
}

func TestTheHeaderOfAnExaminationGoesToThePeer(t *testing.T) {
	t.Parallel()
	other := peertest.NewHost(t)
	h := peertest.NewHost(t)
	card := peertest.CardOf(other.URL)
	card.SupportedInterfaces = append(card.SupportedInterfaces, a2a.NewAgentInterface(h.URL, a2a.TransportProtocolJSONRPC))
	h.Answer(func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, card) },
		peertest.RPCAnswer("error", `{"code":-32600,"message":"your hush-hush is no good"}`))
	checks := findings(t, h.Endpoint(""), http.Header{"X-Token": {"hush-hush"}})
	if got := checks["interface 0"]; got.Outcome != backend.OutcomeWarning || len(other.Seen()) != 0 {
		t.Errorf("the check is %+v, %d requests elsewhere", got, len(other.Seen()))
	}
	for _, r := range h.Seen() {
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
	h := peertest.NewHost(t)
	checks := findings(t, h.Endpoint(`{"signatures":"required","signature_keys":{"keys":[`+peertest.PublicKey+`]}}`), nil)
	if got := checks["signature"]; got.Outcome != backend.OutcomeError || got.Seen != "the agent card is not signed" {
		t.Errorf("the check is %+v", got)
	}
}

// Whatever the peer answers, the examination returns checks and does not panic.
func TestAnythingIsExamined(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "null", "[]", "{}", `{"name":null,"supportedInterfaces":[null]}`, `{"error":{"code":-32001,"details":[null]}}`, "data: x\n\n", "\xff"} {
		for _, kind := range []string{"", "text/event-stream", "application/json"} {
			h := peertest.NewHost(t)
			h.Answer(nil, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				_, _ = w.Write([]byte(body))
			})
			if checks := findings(t, h.Endpoint(""), nil); len(checks) < 8 {
				t.Errorf("%q as %q: %d checks", body, kind, len(checks))
			}
			h.Answer(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				_, _ = w.Write([]byte(body))
			}, nil)
			findings(t, h.Endpoint(""), nil)
		}
	}
}

// Each agent of a list is examined, along with its defects.
func TestTheAgentsOfAListAreExamined(t *testing.T) {
	t.Parallel()
	var h *peertest.Host
	h = peertest.Listing(t, func(w http.ResponseWriter, _ *http.Request) {
		bad := peertest.Named("bad", "https://elsewhere.example/")
		peertest.WriteJSON(w, map[string]any{"agents": []any{peertest.Named("good", h.URL), bad, peertest.Named("twin", h.URL), peertest.Named("twin", h.URL), peertest.Named("", h.URL)}})
	})
	found, err := Examine(t.Context(), h.Endpoint(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	has := func(name, text string) bool {
		return slices.ContainsFunc(found.Checks, func(c backend.Check) bool { return c.Name == name && strings.Contains(c.Seen, text) })
	}
	for name, text := range map[string]string{
		"card list": "5 agents at", "good: choice": "the runtime speaks JSONRPC", "bad: choice": "no interface of it can be used",
	} {
		if !has(name, text) {
			t.Errorf("no check %q says %q: %+v", name, text, found.Checks)
		}
	}
	if !has("card list", `two agents "twin"`) || !has("card list", "card 4 has no name") {
		t.Errorf("the checks are %+v", found.Checks)
	}
	if raw, err := json.Marshal(found); err != nil || strings.Contains(string(raw), "twin: choice") {
		t.Errorf("%s, %v", raw, err)
	}
}

// An examination reports a card whose scopes are an array, and no card with scopes in the
// protocol's form.
func TestTheFormOfScopesIsExamined(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"schemes":{"bearer":{"list":[]}}}]`: "", `[{"schemes":{"bearer":{}}}]`: "", `[]`: "",
		`[{"schemes":{"bearer":[]}}]`: "", `[{"schemes":{"key":["x"],"bearer":[]}},{"schemes":{"key":[]}}]`: "the scopes of key in",
	} {
		h := peertest.NewHost(t)
		h.Answer(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", client.TypeJSON)
			_, _ = fmt.Fprintf(w, `{"name":"x","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"securityRequirements":%s}`, h.URL, text)
		}, peertest.RPCAnswer("error", `{"code":-32001,"message":"no such task"}`))
		checks := findings(t, h.Endpoint(""), nil)
		if form, got := checks["card JSON"], checks["card security"]; form.Outcome != backend.OutcomeOK || (got.Name != "") != (want != "") || !strings.HasPrefix(got.Seen, want) {
			t.Errorf("%s: the checks are %+v and %+v", text, form, got)
		}
	}
}

// askTask asks the peer of an endpoint for a task, as a delegation does.
func askTask(t *testing.T, e *spec.Endpoint) error {
	t.Helper()
	p, err := client.New(e, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	conn, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "x"})
	return err
}
