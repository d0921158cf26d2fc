package a2a

import (
	"encoding/json"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

func TestAnAnswerIsShownAsItComes(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(
		peertest.Task(a2a.TaskStateSubmitted, ""), peertest.Turned(peertest.Working, "thinking"), peertest.Words("Hello, "), peertest.Words("world"), peertest.Turned(peertest.Completed, ""))}})
	res, err := r.run(t.Context())
	if err != nil || res.Response != "Hello, world" || res.Termination.Type != event.NaturalEnd {
		t.Fatalf("%+v, %v", res, err)
	}
	if diff := cmp.Diff([]event.Type{
		event.TypeStepStart, event.TypeActivitySnapshot, event.TypeActivitySnapshot, event.TypeTextDelta, event.TypeTextDelta,
		event.TypeActivitySnapshot, event.TypeStepEnd,
	}, r.host.types()); diff != "" {
		t.Error(diff)
	}
	if text := r.host.text(); text != res.Response {
		t.Errorf("%q is shown", text)
	}
	sent := r.script.Got(peertest.MethodStream)[0]
	if got := sent.Header.Get("Authorization"); got != "Bearer "+token {
		t.Errorf("the peer is shown %q", got)
	}
	if m := sent.Message(t); m.Role != a2a.MessageRoleUser || len(m.Parts) != 1 || m.Parts[0].Text() != "hello" {
		t.Errorf("the peer gets %+v", m)
	}
	if len(res.Messages) != 1 || res.Messages[0].Text() != res.Response || res.Messages[0].ID != "turn-1/m1" {
		t.Errorf("the conversation gets %+v", res.Messages)
	}
}

// activityOf reads the turn's activity for its task.
func activityOf(t *testing.T, shown *event.ActivitySnapshot) *taskActivity {
	t.Helper()
	a := new(taskActivity)
	if err := json.Unmarshal(shown.Content, a); err != nil || shown.ActivityType != activityTask {
		t.Fatal(shown, err)
	}
	return a
}
