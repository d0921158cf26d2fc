package agui

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/testkit/surfacetest"
	"github.com/agentruntime/agentruntime/plugins/toolsearch"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

func TestWrongValuesAreNoInternalErrors(t *testing.T) {
	t.Parallel()
	w := serve(t)
	w.SendWrongValues("POST /agui/boss", `{"threadId":"t{n}","runId":"r{n}","parentRunId":"p","protocolVersion":"1.0","state":{"a":1},"messages":[`+
		`{"id":"a","role":"user","content":[{"type":"text","text":"hi"},{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"},"metadata":{"filename":"f"}},`+
		`{"type":"binary","mimeType":"image/png","data":"aGk=","filename":"f"},{"type":"document","source":{"type":"url","value":"https://example.com/a","mimeType":"text/plain"}}]},`+
		`{"id":"b","role":"assistant","content":"hello","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},`+
		`{"id":"d","role":"tool","toolCallId":"c","content":"done","error":"e"},{"id":"e","role":"user","content":"hi"}],`+
		`"tools":[{"name":"t","description":"d","parameters":{"type":"object"}}],"context":[{"description":"d","value":"v"}],"forwardedProps":{"tone":"x"}}`)
	w.Ask("alice", "POST /agui/clerk", `{"threadId":"t","runId":"waits","messages":[{"id":"a","role":"user","content":"pay"}]}`, 200)
	w.SendWrongValues("POST /agui/clerk", `{"threadId":"t","runId":"s{n}","messages":[{"id":"a","role":"user","content":"pay"}],`+
		`"resume":[{"interruptId":"waits/perm_c0_0","status":"resolved","payload":{"editedArgs":{},"message":"m","reason":"r"}}]}`)
	if w.Pay.Count() > 0 {
		t.Error("a wrong value approves a call")
	}
}

// TestMadeUpAnswersAreNotAllLookedUp sends a history of answers that no thread has.
func TestMadeUpAnswersAreNotAllLookedUp(t *testing.T) {
	t.Parallel()
	w := serve(t)
	w.Ask("alice", "POST /agui/clerk", runBody("t", "r1", said("hi"), ""), http.StatusOK)
	var history strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&history, `{"id":"made-up-%d/m","role":"assistant","content":"x"},`, i)
	}
	before := w.TurnReads.Load()
	w.Ask("alice", "POST /agui/clerk", runBody("t", "r2", history.String()+strings.Replace(said("hi"), `"id":"`, `"id":"n`, 1), ""), http.StatusOK)
	if n := w.TurnReads.Load() - before; n > 200 {
		t.Errorf("turns were read %d times", n)
	}
}

func TestAnInterruptThatIsAnsweredTwiceIsRejected(t *testing.T) {
	t.Parallel()
	w := serve(t)
	w.Ask("alice", "POST /agui/clerk", runBody("t", "r1", said("pay"), ""), http.StatusOK)
	answers := `,"resume":[{"interruptId":"r1/perm_c0_0","status":"resolved","payload":{"approved":false}},{"interruptId":"r1/perm_c0_0","status":"resolved","payload":{"approved":true}}]`
	if got := string(w.Ask("alice", "POST /agui/clerk", runBody("t", "r2", said("pay"), answers), http.StatusBadRequest)); !strings.Contains(got, "answered twice") || w.Pay.Count() > 0 {
		t.Errorf("%d calls: %s", w.Pay.Count(), got)
	}
}

// TestRunsAtTheSameTimeBelongToOneThread begins runs of one new thread at the same time.
func TestRunsAtTheSameTimeBelongToOneThread(t *testing.T) {
	t.Parallel()
	w := serve(t)
	var bodies []string
	for i := range 8 {
		bodies = append(bodies, runBody("t", fmt.Sprintf("r%d", i), said("look"), ""))
	}
	for _, r := range w.SendTogether("POST /agui/clerk", bodies, "Last-Event-ID", "nonsense") {
		if r.Status != http.StatusOK && r.Status != http.StatusConflict {
			t.Errorf("a run is answered %d %s", r.Status, r.Body)
		}
	}
	list, err := w.Service.ListSessions(t.Context(), service.Caller{Tenant: "acme", Subject: "alice"}, service.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Errorf("%v: there are %d sessions", err, len(list.Sessions))
	}
}

// TestAResumptionDoesNotRepeatTheMessageOfItsRun sends an answer with the user's message alone, as pages do
// that have lost what the assistant said.
func TestAResumptionDoesNotRepeatTheMessageOfItsRun(t *testing.T) {
	t.Parallel()
	w := serve(t)
	w.Ask("alice", "POST /agui/clerk", runBody("t", "r", said("pay"), ""), http.StatusOK)
	got := w.Ask("alice", "POST /agui/clerk", runBody("t", "s", said("pay"), `,"resume":[{"interruptId":"r/perm_c0_0","status":"resolved","payload":{"approved":true}}]`), http.StatusOK)
	if !strings.Contains(string(got), "It is ") || strings.Contains(string(got), "interrupts") || w.Pay.Count() != 1 {
		t.Errorf("the tool ran %d times: %s", w.Pay.Count(), got)
	}
}

// TestARunThatIsSentTogetherRunsOnce sends one run, and then approvals and refusals of its call, at the
// same time.
func TestARunThatIsSentTogetherRunsOnce(t *testing.T) {
	t.Parallel()
	for range 5 {
		w := serve(t)
		for _, r := range w.SendTogether("POST /agui/clerk", slices.Repeat([]string{runBody("t", "r", said("pay"), "")}, 8)) {
			if r.Status != http.StatusOK && r.Status != http.StatusConflict {
				t.Errorf("a repeated run is answered %d %s", r.Status, r.Body)
			}
		}
		var bodies []string
		for i := range 8 {
			resume := fmt.Sprintf(`,"resume":[{"interruptId":"r/perm_c0_0","status":"resolved","payload":{"approved":%t}}]`, i%2 == 0)
			bodies = append(bodies, runBody("t", fmt.Sprintf("s%d", i), said("pay"), resume))
		}
		told := 0
		for _, r := range w.SendTogether("POST /agui/clerk", bodies) {
			if strings.Contains(r.Body, "RUN_FINISHED") {
				told++
			} else if !strings.Contains(r.Body, codeAnswered) && !strings.Contains(r.Body, codeUnknownInterrupt) {
				t.Errorf("a resumption is answered %d %s", r.Status, r.Body)
			}
		}
		if n := w.Pay.Count(); n > 1 || told == 0 {
			t.Errorf("the tool ran %d times, and %d resumptions were told", n, told)
		}
	}
}

// TestAnApprovalHasTheAnnouncedForm: what is added to it is honored or rejected.
func TestAnApprovalHasTheAnnouncedForm(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"approved":true}`:                                        "",
		`{"approved":true,"message":"m"}`:                          "",
		`{"approved":true,"scope":"once"}`:                         "",
		`{"approved":true,"editedArgs":{}}`:                        "",
		`{"approved":false,"message":"m","x":1}`:                   "",
		`{"approved":true,"x":1}`:                                  codeInvalidPayload,
		`{"approved":true,"scope":"forever"}`:                      codeInvalidPayload,
		`{"approved":true,"scope":"once","editedArgs":7}`:          codeInvalidPayload,
		`{"approved":true,"scope":"forever","editedArgs":{}}`:      codeInvalidPayload,
		`{"approved":true,"scope":"session","editedArgs":{"a":1}}`: "",
	} {
		w := serve(t)
		w.Ask("alice", "POST /agui/clerk", runBody("t", "r", said("pay"), ""), http.StatusOK)
		got := string(w.Ask("alice", "POST /agui/clerk", runBody("t", "s", said("pay"), `,"resume":[{"interruptId":"r/perm_c0_0","status":"resolved","payload":`+payload+`}]`), http.StatusOK))
		if want != "" && (!strings.Contains(got, want) || w.Pay.Count() > 0) || want == "" && strings.Contains(got, "RUN_ERROR") {
			t.Errorf("%s: %d calls, %s", payload, w.Pay.Count(), got)
		}
	}
}

func TestToolsOfAgentsAreNotReplaced(t *testing.T) {
	t.Parallel()
	mount := func(s *service.Service) (server.Surface, error) { return New(server.SurfaceSettings{Service: s}) }
	w := surfacetest.Serve(t, mount, surfacetest.AddBoss, func(b *builder.AgentRuntimeBuilder) {
		b.WithAvailablePlugin(toolsearch.PluginID, toolsearch.New()).
			WithAgentSpec(spec.Agent{ID: "searcher", ModelID: "fast", PluginIDs: []string{toolsearch.PluginID}})
	})
	w.Ask("alice", "POST /agui/searcher", runBody("s", "s", said("hi"), `,"tools":[{"name":"tool_search"}]`), http.StatusBadRequest)
	w.Ask("alice", "POST /agui/plain", runBody("p", "p", said("hi"), `,"tools":[{"name":"look"}]`), http.StatusOK) // its catalog excludes look
	for _, name := range []string{"look", "note", "agent_run_plain"} {
		got := string(w.Ask("alice", "POST /agui/boss", runBody("t", "r", said("hi"), `,"tools":[{"name":"`+name+`"}]`), http.StatusBadRequest))
		if !strings.Contains(got, "already has a tool") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := string(w.Ask("alice", "POST /agui/boss", runBody("t", "r", said("hi"), `,"forwardedProps":{"tone":7}`), http.StatusBadRequest)); !strings.Contains(got, "forwardedProps: ") {
		t.Errorf("a wrong variable: %s", got)
	}
}
