package agentruns

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// conversing makes a session and returns its path and what says something in it:
// it returns the last event of the run.
func (w *world) conversing(spec string) (path string, say func(body string) map[string]any) {
	w.t.Helper()
	id, _ := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", spec)["sessionId"].(string)
	path = "/agent-sessions/" + id
	return path, func(body string) map[string]any {
		w.t.Helper()
		run, _ := w.must(http.StatusAccepted, http.MethodPost, path+"/messages", body)["runId"].(string)
		list := w.events(run, "")
		last := list[len(list)-1].data
		if view := w.must(http.StatusOK, http.MethodGet, "/agent-runs/"+run, ""); (view["status"] == "succeeded") != (last["ok"] == true) {
			w.t.Errorf("the run ends with %v and is read as %v", last, view)
		}
		return last
	}
}

// said returns the messages of a session as "role: content".
func (w *world) said(path string) []string {
	w.t.Helper()
	var texts []string
	for _, m := range w.must(http.StatusOK, http.MethodGet, path, "")["messages"].([]any) {
		m := m.(map[string]any)
		texts = append(texts, fmt.Sprintf("%s: %s", m["role"], m["content"]))
	}
	return texts
}

func TestASessionRemembersTextsAlone(t *testing.T) {
	t.Parallel()
	w := serving(t)
	path, say := w.conversing(`{"systemPrompt":"Obey.","tools":[{"kind":"mantyx","id":"weather"}]}`)
	say(`{"prompt":"call 1"}`)
	say(`{"prompt":"think so","reasoningLevel":"high"}`)
	if last := say(`{"prompt":"recall"}`); last["text"] != "system: Obey. | user: call 1 | assistant: sunny | user: think so | assistant: so | user: recall" {
		t.Errorf("the model was told %v", last["text"])
	}
	if got := w.said(path); !reflect.DeepEqual(got[:4], []string{"user: call 1", "assistant: sunny", "user: think so", "assistant: so"}) {
		t.Errorf("the session has %q", got)
	}
}

func TestARunThatFailsAddsNothingToItsSession(t *testing.T) {
	t.Parallel()
	w := serving(t)
	path, say := w.conversing(`{"systemPrompt":"Obey."}`)
	for _, body := range []string{
		`{"prompt":"fail overloaded"}`,
		`{"prompt":"cut half a"}`,
		`{"prompt":"again","tools":[{"kind":"mantyx","id":"weather"}],"budgets":{"maxToolTurns":1},"loopDetection":false}`,
	} {
		if last := say(body); last["ok"] == true {
			t.Errorf("%s: %v", body, last)
		}
	}
	last := say(`{"prompt":"again","tools":[{"kind":"mantyx","id":"weather"}],"budgets":{"maxToolTurns":1,"maxToolTurnsExceeded":"finalize"},"loopDetection":false}`)
	if last["text"] != "in the end" || last["turns"] != 2.0 {
		t.Errorf("it ends with %v", last)
	}
	if got := w.said(path); !reflect.DeepEqual(got, []string{"user: again", "assistant: in the end"}) {
		t.Errorf("the session has %q", got)
	}
}

func TestAMessageMayBringWhatWasSaid(t *testing.T) {
	t.Parallel()
	w := serving(t)
	path, say := w.conversing(`{"systemPrompt":"Obey."}`)
	say(`{"prompt":"say one"}`)
	last := say(`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":"c"},{"role":"user","content":"recall"}]}`)
	if last["text"] != "system: Obey. | user: say one | assistant: one | user: a | assistant: b | system: c | user: recall" {
		t.Errorf("the model was told %v", last["text"])
	}
	want := []string{"user: say one", "assistant: one", "user: a", "assistant: b", "system: c", "user: recall"}
	if got := w.said(path); !reflect.DeepEqual(got[:6], want) || len(got) != 7 {
		t.Errorf("the session has %q", got)
	}
	if last := say(`{"prompt":"recall"}`); !strings.HasPrefix(fmt.Sprint(last["text"]), "system: Obey. | "+strings.Join(want, " | ")) {
		t.Errorf("the model was told %v", last["text"])
	}
}

func TestWhatASessionIsMadeWithHasNoInput(t *testing.T) {
	t.Parallel()
	w := serving(t)
	path, say := w.conversing(`{"systemPrompt":"Obey.","messages":[{"role":"system","content":"a"},{"role":"assistant","content":"b"}],"prompt":"c"}`)
	if last := say(`{"prompt":"recall"}`); last["text"] != "system: Obey. | user: recall" {
		t.Errorf("the model was told %v", last["text"])
	}
	view := w.must(http.StatusOK, http.MethodGet, path, "")
	if !reflect.DeepEqual(view["agentSpec"], map[string]any{"systemPrompt": "Obey."}) {
		t.Errorf("it was made with %v", view["agentSpec"])
	}
}
