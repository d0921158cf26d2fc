package window_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/window"
	"pgregory.net/rapid"
)

// anyConversation draws a conversation whose messages have ids. Calls may lack
// results, and results calls.
func anyConversation(t *rapid.T) []model.Message {
	var all []model.Message
	add := func(m model.Message) {
		m.ID = fmt.Sprint("m", len(all))
		all = append(all, m)
	}
	text := func() string { return words(rapid.SampledFrom([]int{0, 1, 20, 200}).Draw(t, "text")) }
	for range rapid.IntRange(0, 2).Draw(t, "system") {
		add(model.System(text()))
	}
	for range rapid.IntRange(1, 30).Draw(t, "groups") {
		switch rapid.SampledFrom([]string{"user", "answer", "calls", "calls", "calls", "orphan", "system"}).Draw(t, "group") {
		case "user":
			add(model.User(text()))
		case "answer":
			add(model.Assistant(text()))
		case "system":
			add(model.System(text()))
		case "orphan":
			add(result("c1", text()))
		case "calls":
			ids := rapid.SliceOfN(rapid.SampledFrom([]string{"c1", "c2", "c3"}), 1, 3).Draw(t, "calls")
			add(calling(ids...))
			var parts []model.Part
			for _, id := range rapid.OneOf(rapid.Just(ids), rapid.Just(ids), rapid.SliceOfN(rapid.SampledFrom([]string{"c1", "c2", "c3"}), 0, 4)).Draw(t, "results") {
				parts = append(parts, result(id, strings.Repeat("line of a result\n", rapid.SampledFrom([]int{0, 1, 30, 300}).Draw(t, "lines"))).Parts...)
			}
			if at := rapid.IntRange(0, len(parts)).Draw(t, "split"); at > 0 {
				add(model.Message{Role: model.RoleTool, Parts: parts[:at:at]})
				parts = parts[at:]
			}
			if len(parts) > 0 {
				add(model.Message{Role: model.RoleTool, Parts: parts})
			}
		}
	}
	return all
}

func anyPolicy(t *rapid.T) window.Policy {
	p := window.Resolve(nil, 0, 0)
	p.OutputTokens = 10_000 // the window is larger than any prompt
	p.ContextTokens = p.OutputTokens + rapid.SampledFrom([]int{10, 100, 500, 2000, 20_000}).Draw(t, "budget")
	p.MinRecentMessages = rapid.IntRange(0, 8).Draw(t, "recent")
	p.Preview.MinTokens = rapid.SampledFrom([]int{1, 50, 500}).Draw(t, "preview tokens")
	p.Preview.MaxChars = rapid.IntRange(1, 300).Draw(t, "preview chars")
	p.Preview.MaxLines = rapid.IntRange(1, 20).Draw(t, "preview lines")
	p.RawSuffixMessages = rapid.IntRange(0, 4).Draw(t, "suffix")
	p.SafeFrontier = rapid.Bool().Draw(t, "frontier")
	p.MinSavings = rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, "savings")
	if rapid.Bool().Draw(t, "compacts") {
		p.CompactAt = rapid.SampledFrom([]int{1, 1000, 3000}).Draw(t, "threshold")
	}
	return p
}

// TestEveryRequestIsSound plays turns of random conversations and checks what
// every request keeps.
func TestEveryRequestIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		conversation, policy := anyConversation(t), anyPolicy(t)
		w := &writer{text: "what went before"}
		p := window.New(policy, window.Summarizer{Executor: w})
		untouched, _ := json.Marshal(conversation)
		c := begin(t, p, nil)
		c.before = []model.Message{model.System("prompt")}
		short := map[string]string{}
		for n := 1; n <= len(conversation); n++ {
			if n < len(conversation) && (conversation[n-1].Role == model.RoleAssistant || conversation[n].Role == model.RoleTool) {
				continue // a request comes after all results
			}
			if rapid.IntRange(0, 9).Draw(t, "next turn") == 0 {
				session := c.session()
				c = begin(t, p, session)
				c.before = []model.Message{model.System("prompt")}
				forgetLatest(short, conversation[:n])
			}
			sent := c.request(conversation[:n:n])
			matched(t, sent)
			summarized := kept(t, &policy, conversation[:n], sent)
			fitting(t, &policy, conversation[:n], sent, summarized)
			monotone(t, short, sent, summarized)
		}
		if now, _ := json.Marshal(conversation); string(now) != string(untouched) {
			t.Fatal("the conversation was changed")
		}
		for _, req := range w.requests {
			if len(req.Tools) != 0 || len(req.Messages) != 2 {
				t.Fatalf("a summary was asked for with %d tools and %d messages", len(req.Tools), len(req.Messages))
			}
		}
	})
}

// matched checks that each call has its result and each result its call.
func matched(t *rapid.T, sent []model.Message) {
	var open []string
	for i := range sent {
		m := &sent[i]
		if m.Role != model.RoleTool && len(open) > 0 {
			t.Fatalf("calls %v have no results in %q", open, outline(sent))
		}
		for _, part := range m.Parts {
			switch {
			case part.ToolCall != nil:
				open = append(open, part.ToolCall.ID)
			case part.ToolResult != nil:
				at := slices.Index(open, part.ToolResult.CallID)
				if at < 0 {
					t.Fatalf("a result of %s has no call in %q", part.ToolResult.CallID, outline(sent))
				}
				open = slices.Delete(open, at, at+1)
			}
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls %v have no results in %q", open, outline(sent))
	}
}

// kept checks that system messages, the order and recent messages are kept, and
// returns whether there is a summary.
func kept(t *rapid.T, policy *window.Policy, conversation, sent []model.Message) (summarized bool) {
	leading := 0
	for leading < len(conversation) && conversation[leading].Role == model.RoleSystem {
		if sent[1+leading].ID != conversation[leading].ID {
			t.Fatalf("system message %d is missing in %q", leading, outline(sent))
		}
		leading++
	}
	var ids []string
	for i := range sent[1+leading:] {
		m := &sent[1+leading+i]
		summarized = summarized || strings.Contains(m.Text(), "<conversation-summary>")
		if m.ID != "" {
			ids = append(ids, m.ID)
		}
	}
	first := leading
	if task := untilUser(conversation) - 1; task >= leading {
		if !slices.Contains(ids, conversation[task].ID) {
			t.Fatalf("the task %s is missing in %v", conversation[task].ID, ids)
		}
		if ids[0] == conversation[task].ID { // what follows it may be left out
			ids, first = ids[1:], task+1
		}
	}
	for i := range unanswered(conversation) {
		if m := &unanswered(conversation)[i]; m.Role != model.RoleTool && !slices.Contains(ids, m.ID) {
			t.Fatalf("%s is not answered and missing in %v", m.ID, ids)
		}
	}
	var expected []string
	for i := first; i < len(conversation); i++ {
		m := &conversation[i]
		switch {
		case len(expected) == 0 && (len(ids) == 0 || m.ID != ids[0]):
		case m.Role != model.RoleTool || slices.Contains(ids, m.ID): // results without calls go
			expected = append(expected, m.ID)
		}
	}
	if !slices.Equal(ids, expected) {
		t.Fatalf("sent are %v, want %v", ids, expected)
	}
	if summarized {
		return true // what it covers may be recent
	}
	for i := max(first, len(conversation)-policy.MinRecentMessages); i < len(conversation); i++ {
		if m := &conversation[i]; m.Role != model.RoleTool && !slices.Contains(ids, m.ID) {
			t.Fatalf("%s is recent and missing in %v", m.ID, ids)
		}
	}
	return false
}

// unanswered returns the latest answer, if it calls tools, with what follows it, and else
// what follows it.
func unanswered(conversation []model.Message) []model.Message {
	for i, m := range slices.Backward(conversation) {
		if m.Role == model.RoleAssistant && m.HasToolCalls() {
			return conversation[i:]
		}
		if m.Role != model.RoleTool {
			break
		}
	}
	return nil
}

// fitting checks that a request is too long only when nothing more may go.
func fitting(t *rapid.T, policy *window.Policy, conversation, sent []model.Message, summarized bool) {
	cost := 0
	for i := range sent {
		cost += window.Estimate(&sent[i])
	}
	if summarized || cost <= policy.ContextTokens-policy.OutputTokens {
		return
	}
	first := len(conversation) - policy.MinRecentMessages
	for i, m := range slices.Backward(conversation) {
		if m.Role == model.RoleUser || m.Role == model.RoleTool {
			first = min(first, i)
			break
		}
	}
	first = max(0, min(first, len(conversation)-1))
	for first > 0 && conversation[first].Role == model.RoleTool {
		first--
	}
	for i := range conversation[:first] {
		m := &conversation[i]
		if i == untilUser(conversation)-1 {
			continue // the task
		}
		if m.Role != model.RoleSystem && slices.ContainsFunc(sent, func(s model.Message) bool { return s.ID == m.ID }) {
			t.Fatalf("%s is sent in a request of %d tokens: %q", m.ID, cost, outline(sent))
		}
	}
}

// forgetLatest forgets the results that no answer follows: another turn decides anew whether they
// are sent in full, because it has another task.
func forgetLatest(short map[string]string, conversation []model.Message) {
	for i := len(conversation) - 1; i >= 0 && conversation[i].Role != model.RoleAssistant; i-- {
		for k := range conversation[i].Parts {
			delete(short, fmt.Sprint(conversation[i].ID, " ", k))
		}
	}
}

// monotone checks that a result that was shortened stays so.
func monotone(t *rapid.T, short map[string]string, sent []model.Message, summarized bool) {
	if summarized {
		return
	}
	for i := range sent {
		for k, part := range sent[i].Parts {
			if part.ToolResult == nil || sent[i].ID == "" {
				continue
			}
			key, text := fmt.Sprint(sent[i].ID, " ", k), model.PartsText(part.ToolResult.Content)
			if before, ok := short[key]; ok && before != text {
				t.Fatalf("the result %s was %q, now it is %q", key, before, text)
			}
			if strings.Contains(text, "left out …]") {
				short[key] = text
			}
		}
	}
}
