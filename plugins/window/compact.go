package window

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// smallestFold is the smallest estimate worth summarizing.
const smallestFold = 1024

// summary is the stored form of a session's latest summary.
type summary struct {
	// Through marks the end of the summarized beginning of the conversation.
	Through mark   `json:"through"`
	Text    string `json:"text,omitempty"`
	// RetryAt is the estimate at which the next summary is tried.
	RetryAt int `json:"retry_at,omitempty"`
}

// summaryKey is the session's summary.
var summaryKey = plugins.NewKey[summary]("runtime.summary", plugins.ScopeSession)

// standing is a summary in the form that a turn's requests contain.
type standing struct {
	summary
	// covers is the number of summarized messages, including leading system messages, which are
	// still sent.
	covers int
	// message takes their place.
	message model.Message
}

// newStanding returns a summary with the message to send. It is a user message: it repeats texts
// of users and tools, and must not gain the weight of instructions.
func newStanding(s summary, covers int) standing {
	if s.Text == "" {
		return standing{summary: s}
	}
	return standing{summary: s, covers: covers, message: model.User(summaryElement(s.Text))}
}

// compactConversation summarizes the earlier part of the conversation when a request has reached
// the policy's threshold. A summary that fails or saves too little is reported but not used; the
// next attempt waits until the conversation has grown. The error is from an ended ctx.
func (t *turn) compactConversation(ctx context.Context, p *plugins.PhaseContext) error {
	if t.policy.CompactAt == 0 || t.plugin.summarizer.Executor == nil {
		return nil
	}
	costs := t.estimateRequest(p)
	if costs.all < max(t.policy.CompactAt, t.summary.RetryAt) {
		return nil
	}
	from := max(t.leading, t.summary.covers)
	to := findFrontier(t.conversation, from, t.task, t.policy)
	if before := min(to, max(from, t.task.start)); !t.policy.SafeFrontier && costs.sumOf(from, before) >= smallestFold {
		to = before // fold the turn's own steps last
	}
	folded := costs.sumOf(from, to)
	if folded < smallestFold {
		return nil
	}
	before := folded
	if t.summary.Text != "" {
		before += Estimate(&t.summary.message)
	}
	shown := &event.ContextCompacted{Messages: to - t.leading, Before: before, Model: t.plugin.summarizer.Upstream}
	text, err := t.askForSummary(ctx, p, t.conversation[from:to], shown)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	next := newStanding(summary{Through: markOf(t.conversation, to), Text: text}, to)
	switch after := Estimate(&next.message); {
	case err != nil:
		shown.Outcome, shown.Reason = event.CompactionFailed, err.Error()
	case float64(before-after) < t.policy.MinSavings*float64(before):
		shown.Outcome, shown.After = event.CompactionSkipped, after
		shown.Reason = fmt.Sprintf("the summary would save %d of %d tokens", before-after, before)
	default:
		shown.Outcome, shown.After = event.CompactionDone, after
		costs.all -= before - after
		t.summary = next
	}
	t.summary.RetryAt = costs.all + max(smallestFold, costs.all/5)
	summaryKey.Set(p, t.summary.summary)
	p.Emit(shown)
	return nil
}

// estimated is the estimated size of a request.
type estimated struct {
	// all is the whole request, to the extent known in advance: the prompt, the tools, the summary,
	// and the messages after it.
	all int
	// messages are the sizes of the conversation's messages. The task and already summarized
	// messages count as 0, because another summary would not shorten them.
	messages []int
}

func (e *estimated) sumOf(from, to int) int { return sumCosts(e.messages[from:max(from, to)]) }

// estimateRequest returns the size of the next request before trimming.
func (t *turn) estimateRequest(p *plugins.PhaseContext) estimated {
	latest := latestStep(t.conversation)
	e := estimated{all: toTokens(textWeight(string(p.Agent.SystemPrompt))), messages: t.trimmer.costs[:0]}
	for i := range t.conversation {
		cost, isTask := 0, t.task.has(i)
		if i < t.leading || i >= t.summary.covers || isTask {
			m := t.trimmer.measures.measureOf(&t.conversation[i])
			if cost = m.tokens; m.preview != nil && i < latest {
				cost = m.preview.tokens
			}
		}
		if e.all += cost; isTask {
			cost = 0
		}
		e.messages = append(e.messages, cost)
	}
	t.trimmer.costs = e.messages // the memory is used again
	if t.summary.Text != "" {
		e.all += Estimate(&t.summary.message)
	}
	if tools := t.plugin.tools.Load(); tools != nil {
		e.all += tools.tokens
	}
	return e
}

// findFrontier returns the number of messages that a summary starting at from may cover. Tool calls
// stay with their results, unanswered messages are not covered, and the task is covered entirely or
// not at all.
func findFrontier(conversation []model.Message, from int, task span, policy *Policy) int {
	to := len(conversation)
	if !policy.SafeFrontier {
		to -= policy.RawSuffixMessages
	}
	to = min(to, latestGroup(conversation))
	for to > from && to < len(conversation) && conversation[to].Role == model.RoleTool {
		to--
	}
	if to <= task.end {
		to = min(to, task.start)
	}
	return max(from, to)
}

// latestGroup returns the start of the latest answer, if it calls tools, or of the messages after
// it.
func latestGroup(conversation []model.Message) int {
	at := latestStep(conversation)
	if at > 0 && callsTools(&conversation[at-1]) {
		return at - 1
	}
	return at
}
