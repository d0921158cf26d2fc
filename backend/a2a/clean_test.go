package a2a

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/tools"
)

// anyText draws texts, some with bytes that no database or protocol accepts.
func anyText(t *rapid.T, label string) string {
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b c", "\x00", "\xff", "\xed\xa0\x80", "é", "\\u0000", `"`, "\n", "\u2028", "{", "\x1b"}), 0, 5).Draw(t, label)
	return strings.Join(pieces, "")
}

// anyParts draws parts of every kind.
func anyParts(t *rapid.T, label string) a2a.ContentParts {
	var parts a2a.ContentParts
	for i := range rapid.IntRange(0, 4).Draw(t, label) {
		var p *a2a.Part
		text := anyText(t, label+" text")
		switch (i + rapid.IntRange(0, 4).Draw(t, label+" kind")) % 5 {
		case 0:
			p = a2a.NewTextPart(text)
		case 1:
			p = a2a.NewDataPart(map[string]any{"k" + text: []any{text, map[string]any{text: text}}})
		case 2:
			p = a2a.NewFileURLPart(a2a.URL("https://x.example/"+text), text)
		case 3:
			p = a2a.NewRawPart([]byte(text))
		default:
			p = nil
		}
		if p != nil {
			p.Filename, p.MediaType, p.Metadata = text, text, map[string]any{text: text}
		}
		parts = append(parts, p)
	}
	return parts
}

// anyEvent draws an event of the task.
func anyEvent(t *rapid.T) a2a.Event {
	message := func() *a2a.Message {
		return &a2a.Message{ID: anyText(t, "message"), Role: a2a.MessageRoleAgent, Parts: anyParts(t, "parts"), Metadata: map[string]any{"m": anyText(t, "metadata")}}
	}
	status := func() a2a.TaskStatus {
		states := []a2a.TaskState{peertest.Working, inputRequired, a2a.TaskStateAuthRequired, a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskState(anyText(t, "state"))}
		return a2a.TaskStatus{State: rapid.SampledFrom(states).Draw(t, "of"), Message: message()}
	}
	artifact := func() *a2a.Artifact {
		return &a2a.Artifact{ID: a2a.ArtifactID(anyText(t, "artifact")), Name: anyText(t, "name"), Parts: anyParts(t, "content")}
	}
	switch rapid.IntRange(0, 3).Draw(t, "event") {
	case 0:
		return message()
	case 1:
		return &a2a.Task{ID: peertest.TaskID, ContextID: peertest.ContextID, Status: status(), Artifacts: []*a2a.Artifact{artifact(), artifact()}, History: []*a2a.Message{message()}}
	case 2:
		return &a2a.TaskStatusUpdateEvent{TaskID: peertest.TaskID, ContextID: peertest.ContextID, Status: status()}
	default:
		return &a2a.TaskArtifactUpdateEvent{TaskID: peertest.TaskID, ContextID: peertest.ContextID, Artifact: artifact(), Append: rapid.Bool().Draw(t, "append")}
	}
}

// TestPropertyWhateverAPeerSendsCanBeKept sends arbitrary bytes: every event encodes, and every
// store accepts each text of the event, the answer and the state unchanged, so that the turn is the
// same in each store.
func TestPropertyWhateverAPeerSendsCanBeKept(t *testing.T) {
	t.Parallel()
	begin := sentTurn(t)
	rapid.Check(t, func(rt *rapid.T) {
		h := &turnHost{session: tools.NoSession}
		turn := begin(t, h)
		x := turn.exchange
		for range rapid.IntRange(1, 4).Draw(rt, "events") {
			if x.Take(t.Context(), anyEvent(rt)) != nil {
				break
			}
		}
		termination, _ := turn.finishStep()
		checkStorable(rt, "the answer", turn.response)
		checkStorable(rt, "the termination", termination)
		checkStorable(rt, "the files", x.Files())
		checkStorable(rt, "the state", turn.currentState())
		for _, data := range h.events {
			checkStorable(rt, string(data.Type()), data)
		}
	})
}

// checkStorable fails for a value that does not encode or whose texts a store would reject or
// change.
func checkStorable(t *rapid.T, what string, value any) {
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%s cannot be encoded: %v", what, err)
	}
	var back any
	if err := json.Unmarshal(encoded, &back); err != nil {
		t.Fatalf("%s is no JSON: %v", what, err)
	}
	if text, ok := value.(string); ok && !utf8.ValidString(text) {
		t.Fatalf("%s is not UTF-8: %q", what, text)
	}
	if strings.Contains(strings.ReplaceAll(string(encoded), `\\`, ""), `\u0000`) {
		t.Fatalf("%s holds a NUL: %s", what, encoded)
	}
	if data, ok := value.(*event.TextDelta); ok && !utf8.ValidString(data.Delta) {
		t.Fatalf("%s is not UTF-8: %q", what, data.Delta)
	}
}
