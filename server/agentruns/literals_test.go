package agentruns

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// TestTheWordsOfTheProtocol compares with what clients and models are used to read.
func TestTheWordsOfTheProtocol(t *testing.T) {
	t.Parallel()
	w := serving(t)
	list := w.events(w.begin("cut half a", ""), "")
	if last := list[len(list)-1].data; last["error"] != "Model output was truncated (stop_reason=max_tokens)." {
		t.Errorf("a run that was cut off ends with %v", last)
	}
	for raw, want := range map[string]string{
		`{"kind":"a2a","name":"billing","agentCardUrl":"https://x.example"}`:                      "Delegate a task to the billing agent over A2A. Pass the full task as a single message.",
		`{"kind":"a2a","name":"billing","agentCardUrl":"https://x.example","description":"Pays"}`: "Pays",
		`{"kind":"a2a_local","name":"hr","agentCard":{"name":"HR","description":"Knows PTO."}}`:   "Delegate a task to HR: Knows PTO.",
		`{"kind":"a2a_local","name":"hr","agentCard":{"name":"HR"}}`:                              "Delegate a task to HR.",
	} {
		made, release, err := NewTurnTools(TurnToolsSettings{}).Make(t.Context(), []service.EphemeralTool{{Kind: kindOf(t, raw), Config: json.RawMessage(raw)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := made[0].Tool.Descriptor().Description; got != want {
			t.Errorf("%s is described as %q", raw, got)
		}
		release()
	}
}

func kindOf(t *testing.T, raw string) string {
	t.Helper()
	var ref toolRef
	if err := json.Unmarshal([]byte(raw), &ref); err != nil {
		t.Fatal(err)
	}
	return ref.Kind
}

// TestTimesHaveSixFractionalDigits reads runs and sessions by a clock that stands on a
// full second, whose fraction a plain time leaves out.
func TestTimesHaveSixFractionalDigits(t *testing.T) {
	t.Parallel()
	full := time.Now().Truncate(time.Second)
	w := serving(t, func(s *setup) { s.service.Clock = func() time.Time { return full } })
	made := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"systemPrompt":"Obey."}`)
	session := "/agent-sessions/" + made["sessionId"].(string)
	run := w.must(http.StatusAccepted, http.MethodPost, session+"/messages", `{"prompt":"say one"}`)["runId"].(string)
	w.events(run, "")
	view := w.must(http.StatusOK, http.MethodGet, "/agent-runs/"+run, "")
	w.must(http.StatusOK, http.MethodDelete, session, "")
	read := w.must(http.StatusOK, http.MethodGet, session, "")
	form := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`)
	for name, value := range map[string]any{
		"createdAt of the answer": made["createdAt"], "createdAt of the run": view["createdAt"], "startedAt": view["startedAt"], "endedAt": view["endedAt"],
		"createdAt": read["createdAt"], "lastUsedAt": read["lastUsedAt"], "endedAt of the session": read["endedAt"],
	} {
		if text, _ := value.(string); !form.MatchString(text) {
			t.Errorf("%s is %v", name, value)
		}
	}
}

func TestIdsOfRuns(t *testing.T) {
	t.Parallel()
	w := serving(t)
	if id := w.begin("say one", ""); !strings.HasPrefix(id, "run_") {
		t.Errorf("the run is %s", id)
	}
	// A run of a server that gave none.
	k := &composer{set: w.service.Runtime().Revision().Set(), settings: Settings{DefaultModel: "fast"}, guarded: guardsNothing}
	asked, err := readRequest(fields{fieldSystemPrompt: []byte(`"Obey."`), fieldPrompt: []byte(`"say old"`)}, forRun)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := k.composeTurn(anybody, asked)
	if err != nil {
		t.Fatal(err)
	}
	alice := service.Caller{Tenant: "alices", Subject: "alice"}
	session, err := w.service.CreateSession(t.Context(), alice, service.CreateSession{})
	if err == nil {
		turn.SessionID = session.ID
		turn.Metadata, err = own.Encode(runRecord{Spec: fields{}})
	}
	if err != nil {
		t.Fatal(err)
	}
	old, err := w.service.CreateTurn(t.Context(), alice, *turn)
	if err != nil || strings.HasPrefix(old.ID, "run_") {
		t.Fatalf("%v, %v", old, err)
	}
	if got := kinds(w.events(old.ID, "")); !strings.HasSuffix(got, "result") {
		t.Errorf("the events are %s", got)
	}
}

func TestLabelsThatSeveralModelsHaveAreToldApart(t *testing.T) {
	t.Parallel()
	set := declared(t, func(d *registry.Draft) {
		d.Providers.Put("main", vendor("anthropic"))
		for _, id := range []string{"careful", "quick"} {
			d.Models.Put(id, &spec.Model{ID: id, ProviderID: "main", UpstreamModel: "claude-sonnet-4-5"})
		}
	})
	for i, want := range []string{"Anthropic claude-sonnet-4-5 (platform) — careful", "Anthropic claude-sonnet-4-5 (platform) — quick"} {
		if got := modelsOf(set, "").list[i].Label; got != want {
			t.Errorf("it is called %s", got)
		}
	}
}

// flaky fails once, and then is a echoModel.
type flaky struct {
	echoModel
	failed *atomic.Bool
}

func (f flaky) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	if f.failed.CompareAndSwap(false, true) {
		return func(yield func(model.Event, error) bool) {
			yield(model.Event{}, &model.Error{Class: "provider", Message: "it went wrong"})
		}
	}
	return f.echoModel.Stream(ctx, req)
}

// TestModelCallsOfAgentsOfRequestsAreRepeated runs an agent of a request where the
// defaults say nothing of retries, and where they do.
func TestModelCallsOfAgentsOfRequestsAreRepeated(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{"": "result", `{"max_retries":0}`: "error"} {
		w := serving(t, func(s *setup) {
			s.more = func(b *builder.AgentRuntimeBuilder) {
				defaults := spec.Defaults{}
				if section != "" {
					defaults.Sections = spec.Sections{resolve.RetryKey: json.RawMessage(section)}
				}
				b.WithDefaults(defaults).WithProvider("flaky", flaky{failed: new(atomic.Bool)}).WithModel(spec.Model{ID: "shaky", ProviderID: "flaky", UpstreamModel: "x"})
			}
		})
		list := w.events(w.begin("say done", `,"modelId":"shaky"`), "")
		if last := list[len(list)-1].eventKind(); last != want {
			t.Errorf("with the section %s it ends with %v", section, list[len(list)-1].data)
		}
	}
}
