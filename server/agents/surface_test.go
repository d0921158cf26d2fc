package agents

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// run runs a turn of alice with the agent clerk.
func (w *world) run(body string) *wire.Output {
	w.t.Helper()
	return resultOf[wire.Output](w, "/agents/clerk", body)
}

// resultOf returns the result of a request of alice.
func resultOf[T any](w *world, path, body string) *T {
	w.t.Helper()
	status, text := w.ask("alice", "POST "+path, body)
	var reply wire.Reply[*T]
	if status != http.StatusOK || json.Unmarshal([]byte(text), &reply) != nil || reply.Result == nil {
		w.t.Fatalf("%s: %d %s", body, status, text)
	}
	return reply.Result
}

// say returns a body with a message, and an init.
func say(text, init string) string {
	return fmt.Sprintf(`{"data":{"message":{"role":"user","content":[{"text":%q}]}},"init":%s}`, text, init)
}

func TestConversationContinuesBySessionAndBySnapshot(t *testing.T) {
	t.Parallel()
	w := serving(t)
	first := w.run(say("one", `{"sessionId":"mine"}`))
	if first.SessionID != "mine" || first.FinishReason != wire.FinishStop || first.Message.Text() != "one" || first.SnapshotID == "" {
		t.Fatalf("got %+v", first)
	}
	second := w.run(say("two", `{"sessionId":"mine"}`))
	fork := w.run(say("three", `{"snapshotId":"`+first.SnapshotID+`"}`))
	for id, want := range map[string]string{second.SnapshotID: "one one two two", fork.SnapshotID: "one one three three"} {
		kept := resultOf[wire.Snapshot](w, "/agents/clerk/getSnapshot", `{"data":{"snapshotId":"`+id+`"}}`)
		var texts []string
		for i := range kept.State.Messages {
			texts = append(texts, kept.State.Messages[i].Text())
		}
		if got := strings.Join(texts, " "); got != want || kept.ParentID != first.SnapshotID || kept.SessionID != "mine" || kept.Status != wire.SnapshotCompleted {
			t.Errorf("got %q in %+v, want %q", got, kept, want)
		}
	}
}

func TestFieldsOfTheWrongTypeOrNameAreNamed(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for body, want := range map[string]string{
		`{"data":[]}`:                                            `data must not be a JSON array`,
		`{"data":{"message":"x"}}`:                               `data.message must not be a JSON string`,
		`{"data":{"message":{"content":{}}}}`:                    `data.message.content must not be a JSON object`,
		`{"data":{"message":{"content":[{"text":1}]}}}`:          `data.message.content.text must not be a JSON number`,
		`{"data":{"message":{"Content":[{"text":"a"}]}}}`:        `data.message.Content: unknown field; did you mean "content"?`,
		`{"data":{"message":{"content":[{"Text":"a"}]}}}`:        `data.message.content[0].Text: unknown field; did you mean "text"?`,
		`{"data":{"detach":"yes"}}`:                              `data.detach must not be a JSON string`,
		`{"data":{"detach":true},"init":{"state":{"Custom":1}}}`: `init.state.Custom: unknown field; did you mean "custom"?`,
		`{"data":{"resume":{"respond":[1]}}}`:                    `data.resume.respond must not be a JSON number`,
		`{"data":{"x":1}}`:                                       `data.x: unknown field`,
	} {
		if status, text := w.ask("alice", "POST /agents/clerk", body); status != http.StatusBadRequest || text != "INVALID_ARGUMENT: "+want {
			t.Errorf("%s: %d %s, want %s", body, status, text, want)
		}
	}
	for _, route := range []string{"getSnapshot", "waitForSnapshot", "abort"} {
		for body, want := range map[string]string{
			`{"data":{"snapshotId":1}}`:   `data.snapshotId must not be a JSON number`,
			`{"data":{"snapshotid":"x"}}`: `data.snapshotid: unknown field; did you mean "snapshotId"?`,
		} {
			if status, text := w.ask("alice", "POST /agents/clerk/"+route, body); status != http.StatusBadRequest || text != "INVALID_ARGUMENT: "+want {
				t.Errorf("%s %s: %d %s, want %s", route, body, status, text, want)
			}
		}
	}
}

func TestStreamHasOnlyDataLinesAndEndsWithTheResult(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for _, accept := range []string{"text/event-stream", "application/json;q=0.1, text/event-stream"} {
		status, text := w.ask("alice", "POST /agents/clerk", say("a b", "{}"), "Accept", accept)
		frames := strings.Split(text, "\n\n")
		if status != http.StatusOK || len(frames) < 3 {
			t.Fatalf("%d %s", status, text)
		}
		var last wire.Frame
		for _, frame := range frames {
			last = wire.Frame{}
			if !strings.HasPrefix(frame, "data: ") || json.Unmarshal([]byte(frame[6:]), &last) != nil {
				t.Fatalf("frame %q", frame)
			}
		}
		if last.Result == nil || last.Result.Message.Text() != "a b" || !strings.Contains(frames[len(frames)-2], `"turnEnd":{"snapshotId":"`+last.Result.SnapshotID) {
			t.Errorf("got %s", text)
		}
	}
}

func TestInterruptedTurnIsResumed(t *testing.T) {
	t.Parallel()
	w := serving(t)
	asked := w.run(say("pay", "{}"))
	request := asked.Message.Content[0].ToolRequest
	if asked.FinishReason != wire.FinishInterrupted || request.Name != "pay" || len(asked.Message.Content[0].Metadata["interrupt"]) == 0 {
		t.Fatalf("got %+v", asked)
	}
	if out := w.run(say("hello", `{"sessionId":"`+asked.SessionID+`"}`)); out.Error == nil || out.Error.Status != wire.StatusFailedPrecondition {
		t.Errorf("got %+v", out)
	}
	dropped := w.run(say("pay", `{"sessionId":"dropped"}`))
	if a := resultOf[wire.AbortResponse](w, "/agents/clerk/abort", `{"data":{"snapshotId":"`+dropped.SnapshotID+`"}}`); a.Status != wire.SnapshotAborted {
		t.Errorf("got %+v", a)
	}
	if out := w.run(say("hello", `{"sessionId":"dropped"}`)); out.FinishReason != wire.FinishStop {
		t.Errorf("after the abort: %+v", out)
	}
	wrong := fmt.Sprintf(`{"data":{"resume":{"respond":[{"toolResponse":{"name":"pay","ref":"other","output":{"approved":true}}}]}},"init":{"snapshotId":%q}}`, asked.SnapshotID)
	if out := w.run(wrong); out.Error == nil || out.Error.Status != wire.StatusInvalidArgument {
		t.Errorf("got %+v", out)
	}
	answer := strings.Replace(wrong, `"other"`, `"`+request.Ref+`"`, 1)
	if out := w.run(answer); out.FinishReason != wire.FinishStop || out.Message.Text() != "Done." {
		t.Errorf("got %+v", out)
	}
	if out := w.run(answer); out.Error == nil || out.Error.Status != wire.StatusInvalidArgument {
		t.Errorf("the second answer: %+v", out)
	}
}

func TestAMessageAccompaniesResume(t *testing.T) {
	t.Parallel()
	w := serving(t)
	asked := w.run(say("pay", "{}"))
	ref := asked.Message.Content[0].ToolRequest.Ref
	body := func(role string) string {
		return fmt.Sprintf(`{"data":{"message":{"role":%q,"content":[{"text":"and then rest"}]},"resume":{"respond":[{"toolResponse":{"name":"pay","ref":%q,"output":{"approved":true}}}]}},"init":{"sessionId":%q}}`, role, ref, asked.SessionID)
	}
	if out := w.run(body("model")); out.Error == nil || out.Error.Status != wire.StatusInvalidArgument {
		t.Errorf("got %+v", out)
	}
	out := w.run(body("user"))
	if out.FinishReason != wire.FinishStop || out.Message.Text() != "and then rest" { // the model repeats what it read last
		t.Fatalf("got %+v", out)
	}
	kept := resultOf[wire.Snapshot](w, "/agents/clerk/getSnapshot", `{"data":{"snapshotId":"`+out.SnapshotID+`"}}`)
	var roles []wire.Role
	for i := range kept.State.Messages {
		roles = append(roles, kept.State.Messages[i].Role)
	}
	if want := []wire.Role{wire.RoleUser, wire.RoleModel, wire.RoleTool, wire.RoleUser, wire.RoleModel}; !slices.Equal(roles, want) {
		t.Errorf("%q", roles)
	}
}

func TestDetachedTurnIsAbortedAndBlocksNothing(t *testing.T) {
	t.Parallel()
	w := serving(t)
	out := w.run(`{"data":{"message":{"content":[{"text":"hang"}]},"detach":true},"init":{"sessionId":"s"}}`)
	if out.FinishReason != wire.FinishDetached {
		t.Fatalf("got %+v", out)
	}
	body := `{"data":{"snapshotId":"` + out.SnapshotID + `"}}`
	if s := resultOf[wire.Snapshot](w, "/agents/clerk/getSnapshot", body); s.Status != wire.SnapshotPending || s.State != nil {
		t.Errorf("got %+v", s)
	}
	if a := resultOf[wire.AbortResponse](w, "/agents/clerk/abort", body); a.Status != wire.SnapshotAborted {
		t.Errorf("got %+v", a)
	}
	if s := resultOf[wire.Snapshot](w, "/agents/clerk/waitForSnapshot", body); s.Status != wire.SnapshotAborted {
		t.Errorf("got %+v", s)
	}
	if status, text := w.ask("alice", "POST /agents/clerk", say("x", `{"snapshotId":"`+out.SnapshotID+`"}`)); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, text)
	}
	if next := w.run(say("next", `{"sessionId":"s"}`)); next.FinishReason != wire.FinishStop {
		t.Errorf("got %+v", next)
	}
}

func TestAgentsThatAreNotExposedLookUnknown(t *testing.T) {
	t.Parallel()
	w := serving(t)
	unknown, text := w.ask("alice", "POST /agents/nobody", say("x", "{}"))
	if err := w.drain(); err != nil {
		t.Fatal(err)
	}
	w.drain = w.listen(Settings{Service: w.service, Exposed: service.NewAgentSet([]string{"cl*"})})
	if out := w.run(say("x", "{}")); out.FinishReason != wire.FinishStop {
		t.Errorf("got %+v", out)
	}
	for _, path := range []string{"", "/getSnapshot", "/waitForSnapshot", "/abort"} {
		status, got := w.ask("alice", "POST /agents/boss"+path, say("x", "{}"))
		if status != unknown || strings.ReplaceAll(got, "boss", "nobody") != text {
			t.Errorf("%s: %d %s, want %d %s", path, status, got, unknown, text)
		}
	}
}

func TestWaitingForASnapshotEndsInTime(t *testing.T) {
	t.Parallel()
	w := serving(t)
	if err := w.drain(); err != nil {
		t.Fatal(err)
	}
	w.drain = w.listen(Settings{Service: w.service, MaxWait: 50 * time.Millisecond})
	out := w.run(`{"data":{"message":{"content":[{"text":"hang"}]},"detach":true}}`)
	body := about("snapshotId", out.SnapshotID)
	if s := resultOf[wire.Snapshot](w, "/agents/clerk/waitForSnapshot", body); s.Status != wire.SnapshotPending {
		t.Errorf("got %+v", s)
	}
	if a := resultOf[wire.AbortResponse](w, "/agents/clerk/abort", body); a.Status != wire.SnapshotAborted {
		t.Errorf("got %+v", a)
	}
	if s := resultOf[wire.Snapshot](w, "/agents/clerk/waitForSnapshot", body); s.Status != wire.SnapshotAborted {
		t.Errorf("got %+v", s)
	}
}

func TestFailedTurnIsAnOutputAndKeepsTheLastSnapshot(t *testing.T) {
	t.Parallel()
	w := serving(t)
	good := w.run(say("good", `{"sessionId":"s"}`))
	bad := w.run(say("fail", `{"sessionId":"s"}`))
	if bad.FinishReason != wire.FinishFailed || bad.Error == nil || bad.SnapshotID != good.SnapshotID || strings.Contains(bad.Error.Message, "amused") {
		t.Errorf("got %+v: %v", bad, bad.Error)
	}
	if next := w.run(say("next", `{"sessionId":"s"}`)); next.FinishReason != wire.FinishStop {
		t.Errorf("got %+v", next)
	}
}

// TestD6RefusalsDoNotDependOnAccept: the original answers those of a stream with 200.
func TestD6RefusalsDoNotDependOnAccept(t *testing.T) {
	t.Parallel()
	w := serving(t)
	mine := w.run(say("one", `{"sessionId":"mine"}`))
	for _, tt := range []struct {
		who, path, body string
		status          int
	}{
		{"alice", "/agents/nobody", say("x", "{}"), 404},
		{"ann", "/agents/clerk", say("x", "{}"), 404},
		{"alice", "/agents/clerk", `{"init":{}}`, 400},
		{"alice", "/agents/clerk", `{`, 400},
		{"alice", "/agents/clerk", `{"data":{"messages":[]}}`, 400},
		{"alice", "/agents/clerk?stream=maybe", say("x", "{}"), 400},
		{"alice", "/agents/clerk", say("x", `{"state":{}}`), 400},
		{"alice", "/agents/clerk", say("x", `{"state":{},"sessionId":"s"}`), 400},
		{"alice", "/agents/clerk", say("x", `{"snapshotId":"none"}`), 404},
		{"alice", "/agents/boss", say("x", `{"snapshotId":"`+mine.SnapshotID+`"}`), 404},
		{"bob", "/agents/clerk", say("x", `{"snapshotId":"`+mine.SnapshotID+`"}`), 404},
		{"bob", "/agents/clerk", say("x", `{"sessionId":"mine"}`), 200}, // a session of bob's own
		{"alice", "/agents/clerk", say("x", `{"sessionId":"other","snapshotId":"`+mine.SnapshotID+`"}`), 400},
		{"alice", "/agents/clerk/getSnapshot", `{"data":{}}`, 400},
		{"alice", "/agents/clerk/getSnapshot", `{"data":{"sessionId":"mine"},"init":{}}`, 400},
		{"eve", "/agents/clerk/getSnapshot", `{"data":{"sessionId":"mine"}}`, 404},
		{"eve", "/agents/clerk/abort", `{"data":{"snapshotId":"` + mine.SnapshotID + `"}}`, 404},
	} {
		status, text := w.ask(tt.who, "POST "+tt.path, tt.body)
		streamed, _ := w.ask(tt.who, "POST "+tt.path, tt.body, "Accept", "text/event-stream")
		if tt.status != 200 && !strings.Contains(text, map[int]string{400: "INVALID_ARGUMENT: ", 404: "NOT_FOUND: "}[tt.status]) && !strings.HasPrefix(text, "FAILED_PRECONDITION: ") {
			t.Errorf("%s %s: the text has no status: %s", tt.path, tt.body, text)
		}
		if status != tt.status || streamed != status {
			t.Errorf("%s %s %s: %d, streamed %d: %s", tt.who, tt.path, tt.body, status, streamed, text)
		}
	}
}

func TestFirstRequestsAtTheSameTimeShareTheNewSession(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]string{"the hook succeeds": "true", "the hook of the first fails": "mkdir \"$DIR/first\" && exit 1 || true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, work := onMemory(t)
			slow := spec.Agent{ID: "slow", ModelID: "fast", SessionStart: []spec.SessionHook{{
				ID: "wait", Command: []string{"/bin/sh", "-c", "sleep 0.3; " + settle}, Env: map[string]string{"DIR": t.TempDir()},
			}}}
			w := servingOn(t, kept, work, slow)
			const n = 5
			answers := make([]int, n)
			var group sync.WaitGroup
			for i := range answers {
				group.Go(func() { answers[i], _ = w.ask("alice", "POST /agents/slow", say("hi", `{"sessionId":"new"}`)) })
			}
			group.Wait()
			failed := 0
			for _, status := range answers {
				if status != http.StatusOK {
					failed++
				}
			}
			if failed > strings.Count(settle, "exit 1") {
				t.Errorf("the requests are answered with %v", answers)
			}
			page, err := w.service.ListSessions(t.Context(), service.Operator(), service.SessionQuery{AgentID: "slow"})
			if err != nil || len(page.Sessions) != 1 {
				t.Errorf("there are %d sessions, %v", len(page.Sessions), err)
			}
		})
	}
}
