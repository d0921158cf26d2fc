package agents

import (
	"context"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"pgregory.net/rapid"
)

// caseOf is a test or a case of a property.
type caseOf interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}

// shownMessages returns the texts that a client builds from a turn's events, by message index.
func shownMessages(t caseOf, events ...event.Data) []string {
	t.Helper()
	chunks := chunker{definition: new(definition)}
	var texts []string
	for _, data := range events {
		chunk, err := chunks.convert(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		if chunk == nil {
			continue
		}
		for len(texts) <= *chunk.ModelChunk.Index {
			texts = append(texts, "")
		}
		message := wire.Message{Content: chunk.ModelChunk.Content}
		texts[*chunk.ModelChunk.Index] += message.Text()
	}
	return texts
}

func TestAMessageThatIsSaidAgainIsShownOnce(t *testing.T) {
	say := func(text string) event.Data { return &event.TextDelta{Delta: text} }
	again, done := &event.RunStart{Resumed: true}, &event.InferenceComplete{}
	for name, tt := range map[string]struct {
		events []event.Data
		want   string
	}{
		"the same":            {[]event.Data{say("one t"), again, say("one"), say(" two"), done, say("three"), done}, "one two|three"},
		"twice":               {[]event.Data{say("one t"), again, say("one"), again, say("one two"), done}, "one two"},
		"other words":         {[]event.Data{say("one two"), again, say("one "), say("three"), say(" four"), done, say("five"), done}, "one two|one three four|five"},
		"a shorter message":   {[]event.Data{say("one two"), again, say("one"), done, say("three"), done}, "one two|one|three"},
		"nothing shown":       {[]event.Data{again, say("one"), done, again, say("two"), done}, "one|two"},
		"after the message":   {[]event.Data{say("one"), done, again, say("one"), done}, "one|one"},
		"the model broke off": {[]event.Data{say("one "), &event.StreamReset{}, say("one "), say("two"), done}, "one two"},
	} {
		if got := strings.Join(shownMessages(t, tt.events...), "|"); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestPropertyTheLastMessageThatIsShownIsTheOneThatWasSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "ab"}))
		var events []event.Data
		var last string
		for _, try := range rapid.SliceOfN(words, 1, 4).Draw(t, "tries") {
			last = ""
			events = append(events, &event.RunStart{})
			for _, word := range try {
				last += word
				events = append(events, &event.TextDelta{Delta: word})
			}
		}
		texts := shownMessages(t, append(events, &event.InferenceComplete{})...)
		if last == "" && len(texts) == 0 {
			return
		}
		if got := texts[len(texts)-1]; got != last && last != "" {
			t.Errorf("the client has %q, want %q at the end", texts, last)
		}
	})
}
