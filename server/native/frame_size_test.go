package native

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/server"
)

func TestNoEventIsLargerThanAFrame(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("\x01", 1<<20), strings.Repeat("界", 1<<20)} {
		raw, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range []event.Data{
			&event.ToolCallReady{ID: "c", Name: "n", Arguments: raw}, &event.InteractionRequest{Request: interaction.Request{ID: "p", Message: text, Arguments: raw, Parameters: raw, ResponseSchema: raw}},
			&event.ToolCallResumed{TargetID: "p", Result: raw}, &event.ToolCallDone{ID: "c", Result: event.ToolResult{Content: []event.Content{{Type: "text", Text: text}}}},
			&event.RunFinish{Result: &event.Output{Response: text}},
		} {
			r, err := event.NewRecord(event.Event{Seq: 7, Time: time.Now(), TurnID: "t", SessionID: "s", Data: data})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			size := server.MaxFrame
			if r.Terminal() {
				size = server.MaxLastFrame
			}
			if err := writeEvent(&out, &r); err != nil || out.Len() > size {
				t.Errorf("%s has %d bytes, %v", r.Type, out.Len(), err)
			}
			_, line, _ := strings.Cut(out.String(), "\ndata: ")
			var got event.Record
			if err := json.Unmarshal([]byte(line), &got); err != nil || got.Seq != 7 || got.Type != r.Type {
				t.Fatalf("%s is read as %d %s, %v", r.Type, got.Seq, got.Type, err)
			}
			if _, err := got.Event(); err != nil || !r.Terminal() && !bytes.Contains(got.Data, []byte(`"truncated":true`)) {
				t.Errorf("%s: %v, %.80s", r.Type, err, got.Data)
			}
		}
	}
}
