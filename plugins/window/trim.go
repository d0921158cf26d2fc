package window

import (
	"github.com/agentruntime/agentruntime/model"
)

// leftOut replaces the messages that a request omits. It informs the model, and makes the
// conversation start with a user message, which some vendors require.
var leftOut = model.User("[Earlier messages of this conversation were left out to fit the context window.]")

var leftOutTokens = Estimate(&leftOut)

// trimmer makes a turn's requests fit, one at a time. It does not modify the messages but creates
// new ones.
type trimmer struct {
	policy   *Policy
	measures measures

	// messages are the request's messages. The first pinned ones are always sent.
	messages []model.Message
	pinned   int
	// task is also always sent. Messages before and after it may be omitted.
	task span
	// costs are the tokens of the messages as sent; all tokens of a repaired group count at its
	// first message.
	costs  []int
	mended []mended
	// latest is the start of the latest step's results. They are sent in full unless allShort is
	// set.
	latest   int
	allShort bool
	// shortest is the latest step that an earlier request shortened. It stays short.
	shortest int
	// short counts the shortened messages.
	short int
}

// mended is an incomplete group with its repaired form.
type mended struct {
	start, end int
	messages   []model.Message
	// shortened counts the shortened results.
	shortened int
}

// trimmed is a trimmed request.
type trimmed struct {
	messages []model.Message
	// cut is the start of the messages sent after the pinned ones; the number of pinned messages if
	// none is omitted.
	cut int
	// dropped counts the omitted messages.
	dropped int
	// shortened counts the shortened tool results.
	shortened int
	// before and after are estimates of the messages.
	before, after int
}

// trimRequest returns the part of a request that fits into a budget of tokens.
//
// Vendors cache the beginning of a request, so it should seldom change. The previous request's cut
// is kept as long as the request fits, and a new cut leaves a quarter of the budget free for the
// next steps. For the same reason, results are shortened as soon as they are not the latest, rather
// than when space runs out.
func (t *trimmer) trimRequest(messages []model.Message, pinned, previous, budget int) trimmed {
	t.messages, t.pinned = messages, pinned
	t.task = span{max(t.task.start, pinned), max(t.task.end, pinned)}
	t.latest, t.allShort = latestStep(messages), false
	before := t.measureAll()
	latest := max(pinned, t.groupStart(t.latest))
	if t.latest == t.shortest || t.costFrom(latest) > budget {
		t.allShort = true
		t.measureAll()
	}
	out := t.buildRequest(t.findCut(previous, budget))
	out.before = before
	return out
}

// latestStep returns the start of the messages after the last answer.
func latestStep(messages []model.Message) int {
	i := len(messages)
	for i > 0 && messages[i-1].Role != model.RoleAssistant {
		i--
	}
	return i
}

// measureAll measures the cost of each message, and returns the total cost of the unchanged
// messages.
func (t *trimmer) measureAll() (asTheyAre int) {
	t.costs, t.mended, t.short = t.costs[:0], t.mended[:0], 0
	for i := range t.pinned {
		t.costs = append(t.costs, t.measures.measureOf(&t.messages[i]).tokens)
		asTheyAre += t.costs[i]
	}
	for i := t.pinned; i < len(t.messages); {
		end := groupEnd(t.messages, i)
		if group := t.messages[i:end]; !isComplete(group) {
			t.repairRange(i, end)
		}
		for k := i; k < end; k++ {
			m := t.measures.measureOf(&t.messages[k])
			asTheyAre += m.tokens
			if len(t.costs) > k {
				continue // it is part of a mended group
			}
			if m.preview != nil && t.isShortened(k) {
				m.tokens = m.preview.tokens
				t.short++
			}
			t.costs = append(t.costs, m.tokens)
		}
		i = end
	}
	return asTheyAre
}

// repairRange completes a group. Its parts are recreated for each request, so they are not cached.
func (t *trimmer) repairRange(start, end int) {
	group, cost := mended{start: start, end: end, messages: repairGroup(t.messages[start:end])}, 0
	for i := range group.messages {
		m := t.measures.newMeasure(&group.messages[i])
		if m.preview != nil && t.isShortened(start+1) {
			group.messages[i].Parts, m.tokens = m.preview.parts, m.preview.tokens
			group.shortened += m.preview.results
		}
		cost += m.tokens
	}
	t.mended = append(t.mended, group)
	t.costs = append(t.costs, cost)
	for range end - start - 1 {
		t.costs = append(t.costs, 0)
	}
}

// isShortened reports whether the results in a message are shortened.
func (t *trimmer) isShortened(i int) bool { return i < t.latest || t.allShort }

// costOf returns the tokens of the messages from start to end.
func (t *trimmer) costOf(start, end int) int { return sumCosts(t.costs[start:end]) }

// groupStart returns the start of the group that contains message i.
func (t *trimmer) groupStart(i int) int {
	for i > t.pinned && i < len(t.messages) && t.messages[i].Role == model.RoleTool {
		i--
	}
	return i
}

// costFrom returns the tokens of a request that starts at a cut.
func (t *trimmer) costFrom(cut int) int {
	n := t.costOf(0, t.pinned) + t.costOf(cut, len(t.messages))
	if cut > t.pinned {
		n += leftOutTokens
	}
	if cut > t.task.start {
		n += t.costOf(t.task.start, min(cut, t.task.end))
	}
	return n
}

// findCut returns the start of the messages sent after the pinned ones.
func (t *trimmer) findCut(previous, budget int) int {
	n, target := len(t.messages), threeQuarters(budget)
	all := t.costOf(0, n)
	if all <= target || previous <= t.pinned && all <= budget {
		return t.pinned
	}
	cut := t.outsideTask(t.recentStart())
	if previous = t.outsideTask(t.groupStart(min(previous, cut))); previous > t.pinned && t.costFrom(previous) <= budget {
		return previous
	}
	for kept := t.costFrom(cut); cut > t.pinned; {
		start := t.outsideTask(t.groupStart(cut - 1))
		if kept += t.costOf(start, cut); start == t.task.start {
			kept = t.costFrom(start)
		}
		if kept > target {
			break
		}
		cut = start
	}
	return cut
}

// outsideTask returns cut, or the start of the task if cut is inside the task or right after it,
// which omits as much.
func (t *trimmer) outsideTask(cut int) int {
	if cut <= t.task.end {
		return min(cut, t.task.start)
	}
	return cut
}

// recentStart returns the start of the messages that are always sent: the latest ones, and the
// unanswered ones.
func (t *trimmer) recentStart() int {
	n := len(t.messages)
	heard := n - 1
	for i := heard; i >= t.pinned; i-- {
		if role := t.messages[i].Role; role == model.RoleUser || role == model.RoleTool {
			heard = i
			break
		}
	}
	return t.groupStart(max(t.pinned, min(heard, n-t.policy.MinRecentMessages)))
}

// buildRequest assembles the request after the cut.
func (t *trimmer) buildRequest(cut int) trimmed {
	out := trimmed{messages: t.messages, cut: cut, after: t.costFrom(cut), dropped: cut - t.pinned}
	if cut == t.pinned && len(t.mended) == 0 && t.short == 0 {
		return out
	}
	out.messages = make([]model.Message, 0, t.pinned+1+len(t.messages)-cut+len(t.mended))
	out.messages = append(out.messages, t.messages[:t.pinned]...)
	if cut > t.task.start {
		out.messages = append(out.messages, t.messages[t.task.start:t.task.end]...)
		out.dropped -= t.task.end - t.task.start
	}
	if cut > t.pinned {
		out.messages = append(out.messages, leftOut)
	}
	mended := t.mended
	for i := cut; i < len(t.messages); i++ {
		for len(mended) > 0 && mended[0].start < i {
			mended = mended[1:]
		}
		if len(mended) > 0 && mended[0].start == i {
			out.messages = append(out.messages, mended[0].messages...)
			out.shortened += mended[0].shortened
			i = mended[0].end - 1
			continue
		}
		m := t.messages[i]
		if m.Role == model.RoleTool && t.isShortened(i) {
			if short := t.measures.measureOf(&m).preview; short != nil {
				m.Parts = short.parts
				out.shortened += short.results
			}
		}
		out.messages = append(out.messages, m)
	}
	return out
}
