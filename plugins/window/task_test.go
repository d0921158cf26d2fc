package window_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/window"
	"pgregory.net/rapid"
)

// TestALongTurnKeepsItsTask plays a long turn after a random history. Each request has the
// prompt, the whole input and the calls without an answer, whatever is left out or
// summarized.
func TestALongTurnKeepsItsTask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := anyPolicy(t)
		c := begin(t, window.New(policy, window.Summarizer{Executor: &writer{text: "what went before"}}), nil)
		c.before = []model.Message{model.System("prompt")}
		var conversation []model.Message
		if rapid.Bool().Draw(t, "has history") {
			conversation = anyConversation(t)
		}
		c.history = len(conversation)
		for i := range rapid.IntRange(1, 3).Draw(t, "input") {
			m := model.User(words(rapid.SampledFrom([]int{1, 200}).Draw(t, "input text")))
			if i == 1 {
				conversation[len(conversation)-1].Role = model.RoleSystem
			}
			m.ID = fmt.Sprint("input", c.input)
			conversation = append(conversation, m)
			c.input++
		}
		var all []string
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			sent := c.request(conversation)
			ids := make([]string, 0, len(sent))
			for k := range sent {
				ids = append(ids, sent[k].ID)
			}
			if sent[0].Text() != "prompt" {
				t.Fatalf("the prompt is missing in %q", outline(sent))
			}
			for k := range c.input {
				if !slices.Contains(ids, fmt.Sprint("input", k)) {
					t.Fatalf("input %d is missing in %q", k, outline(sent))
				}
			}
			for _, m := range unanswered(conversation) {
				if !slices.Contains(ids, m.ID) {
					t.Fatalf("%s is not answered and missing in %q", m.ID, outline(sent))
				}
			}
			matched(t, sent)
			slices.Sort(ids)
			all = ids
			call, answer := calling(fmt.Sprint("c", i)), result(fmt.Sprint("c", i), words(rapid.SampledFrom([]int{1, 100, 400}).Draw(t, "result")))
			call.ID, answer.ID = fmt.Sprint("call", i), fmt.Sprint("answer", i)
			conversation = append(conversation, call, answer)
		}
		for i := 1; i < len(all); i++ {
			if all[i] != "" && all[i] == all[i-1] {
				t.Fatalf("%s is sent twice", all[i])
			}
		}
	})
}

// TestTheTaskIsTheLatestMessageOfTheUser covers turns whose input ends with something else.
func TestTheTaskIsTheLatestMessageOfTheUser(t *testing.T) {
	long := func(m model.Message) model.Message { m.Parts[0].Text += words(100); return m }
	work := []model.Message{calling("1"), result("1", words(200)), calling("2"), result("2", "two")}
	for name, tt := range map[string]struct {
		history, input []model.Message
		want           []string
	}{
		"several messages": {
			nil, []model.Message{long(model.System("s ")), long(model.User("a ")), long(model.User("b "))},
			[]string{"system: s", "user: a", "user: b"},
		},
		"a whole conversation": {
			nil, []model.Message{long(model.User("a ")), long(model.Assistant("b ")), long(model.System("c ")), long(model.User("d "))},
			[]string{"system: c", "user: d"},
		},
		"results of the client": {
			[]model.Message{long(model.User("a ")), calling("0")}, []model.Message{result("0", words(100))},
			[]string{"user: a"},
		},
		"an earlier message that has no answer": {
			[]model.Message{long(model.User("a "))}, []model.Message{long(model.User("b "))},
			[]string{"user: b"},
		},
	} {
		c := begin(t, fits(50, func(p *window.Policy) { p.MinRecentMessages = 1 }), nil)
		c.history, c.input = len(tt.history), len(tt.input)
		var got []string
		for _, line := range outline(c.request(slices.Concat(tt.history, tt.input, work))) {
			if line == note {
				break
			}
			who, _, _ := strings.Cut(line, " abc")
			got = append(got, who)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: before the note are %q, want %q", name, got, tt.want)
		}
	}
}
