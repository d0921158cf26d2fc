package work

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/event"
)

func TestADeltaThatIsTooLargeIsKeptInPieces(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain": strings.Repeat("x", 3*maxDelta), "wide": "x" + strings.Repeat("界", maxDelta), "emoji": strings.Repeat("🌍", maxDelta),
		"no UTF-8": strings.Repeat("\x80", 2*maxDelta+1), "just right": strings.Repeat("x", maxDelta), "nothing": "",
	} {
		for _, data := range []event.Data{
			&event.TextDelta{Delta: text}, &event.ReasoningDelta{Delta: text}, &event.ToolCallDelta{ID: "c", Delta: text}, &event.ToolCallStreamDelta{ID: "c", Name: "n", Delta: text},
		} {
			var f frame
			if !f.beginWith(&event.Event{Data: data}) {
				t.Fatal("it is no delta")
			}
			var whole strings.Builder
			n := 0
			f.flushTo(func(ev *event.Event) {
				n++
				id, tool, piece, _ := textDelta(ev.Data)
				wantID, wantTool, _, _ := textDelta(data)
				if ev.Data.Type() != data.Type() || id != wantID || tool != wantTool || len(piece) > maxDelta || utf8.ValidString(text) && !utf8.ValidString(piece) {
					t.Errorf("%s: a piece is a %s of %d bytes", name, ev.Data.Type(), len(piece))
				}
				whole.WriteString(piece)
			})
			if whole.String() != text || n != max(1, (len(text)+maxDelta-1)/maxDelta) && name != "wide" {
				t.Errorf("%s: %d pieces of %d bytes", name, n, whole.Len())
			}
			f.flushTo(func(*event.Event) { t.Error("it is there twice") })
		}
	}
}
