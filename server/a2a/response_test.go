package a2a

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"pgregory.net/rapid"
)

// shown is what a receiver has of the answer.
type shown struct {
	text string
	last bool
}

func (s *shown) take(events []a2a.Event) {
	for _, ev := range events {
		update := ev.(*a2a.TaskArtifactUpdateEvent)
		if !update.Append {
			s.text = ""
		}
		s.text += update.Artifact.Parts[0].Text()
		s.last = update.LastChunk
	}
}

func TestAReceiverHasTheAnswerHoweverItWasSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r response
		var got shown
		var step string // the text of the step
		certain := 0
		fresh := false
		for range rapid.IntRange(0, 40).Draw(t, "actions") {
			switch rapid.SampledFrom([]string{"add", "add", "add", "begin", "settle", "take back", "flush"}).Draw(t, "action") {
			case "add":
				delta := rapid.StringN(1, 5, -1).Draw(t, "delta")
				if fresh {
					step, certain, fresh = "", 0, false
				}
				step += delta
				r.appendText(delta)
			case "begin":
				got.take(r.flushText(a2a.TaskInfo{}))
				fresh = true
				r.beginAnswer()
			case "settle":
				if !fresh {
					certain = len(step)
					r.keepText()
				}
			case "take back":
				if !fresh {
					step = step[:certain]
				}
				r.dropUnsettled()
			case "flush":
				got.take(r.flushText(a2a.TaskInfo{}))
			}
		}
		answer := step
		if rapid.Bool().Draw(t, "another answer") {
			answer = rapid.StringN(1, 9, -1).Draw(t, "answer")
		}
		had := got.text != "" || r.shown
		got.take(r.finishAnswer(a2a.TaskInfo{}, answer))
		if answer != "" && got.text != answer {
			t.Fatalf("the receiver has %q, not %q", got.text, answer)
		}
		if (answer != "" || had) && !got.last {
			t.Fatal("the receiver was not told that it has everything")
		}
	})
}

func TestAChunkOfTextFitsIntoItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "<", "\x00", "\u2028", "ä", "\"", "\xff"}).Draw(t, "prefix") + rapid.String().Draw(t, "text")
		text = strings.Repeat(text, rapid.IntRange(1, 20).Draw(t, "times"))
		limit := rapid.IntRange(12, 200).Draw(t, "limit")
		for rest := text; rest != ""; {
			n := textChunk(rest, limit)
			if n <= 0 {
				t.Fatalf("nothing of %q fits into %d", rest, limit)
			}
			data, err := json.Marshal(rest[:n])
			if err != nil || len(data)-2 > limit {
				t.Fatalf("%q has %d bytes, more than %d: %v", rest[:n], len(data)-2, limit, err)
			}
			rest = rest[n:]
		}
	})
}
