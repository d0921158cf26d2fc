// Package window keeps a conversation inside a model's context window. It shortens old tool
// results, has the earlier part of a long conversation summarized, and omits messages that do not
// fit. This affects only requests: the conversation itself keeps everything.
package window

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
)

// ID is the plugin's id.
const ID = core.Prefix + "context"

// Plugin keeps an agent's requests inside a window. It is created once per agent and revision with
// New.
type Plugin struct {
	policy     Policy
	summarizer Summarizer
	tools      atomic.Pointer[toolsEstimate]
}

var _ plugins.Plugin = (*Plugin)(nil)

// toolsEstimate is the estimate of tools that are offered together.
type toolsEstimate struct {
	first  *model.Tool
	count  int
	tokens int
}

// New returns the plugin for a policy. Without an executor the summarizer is never called, whatever
// the policy says.
func New(policy Policy, summarizer Summarizer) *Plugin {
	return &Plugin{policy: policy, summarizer: summarizer}
}

// cutKey is the start of the messages that are sent. It outlives the turn, because another cut in
// the next turn would invalidate the vendor's cache of the request.
var cutKey = plugins.NewKey[mark]("runtime.context_cut", plugins.ScopeSession)

// Descriptor describes the plugin.
func (*Plugin) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{Summary: "Keeps requests inside the model's context window."}
}

// Register adds the plugin's hooks and its request transform.
func (p *Plugin) Register(r *plugins.Registrar) error {
	t := &turn{plugin: p, policy: &p.policy}
	t.trimmer = trimmer{policy: t.policy, measures: measures{policy: &p.policy.Preview}}
	r.StateKey(cutKey)
	r.StateKey(summaryKey)
	r.Hook(plugins.BeforeInference, t.prepareRequest)
	r.RequestTransform(t.fitRequest)
	r.Hook(plugins.AfterInference, t.reportTrimming)
	r.Hook(plugins.RunEnd, t.reportTrimming)
	return nil
}

// toolTokens estimates the tools of a request. Most requests of a revision share the same slice.
func (p *Plugin) toolTokens(offered []model.Tool) int {
	if len(offered) == 0 {
		return 0
	}
	if e := p.tools.Load(); e != nil && e.first == &offered[0] && e.count == len(offered) {
		return e.tokens
	}
	e := &toolsEstimate{first: &offered[0], count: len(offered), tokens: EstimateTools(offered)}
	p.tools.Store(e)
	return e.tokens
}

// turn is one turn of an agent. It belongs to one goroutine.
type turn struct {
	plugin  *Plugin
	policy  *Policy
	trimmer trimmer

	// conversation is the conversation that hooks last saw, and leading its number of leading
	// system messages.
	conversation []model.Message
	leading      int
	// task is the turn's input. It is never omitted.
	task span
	// restored is set if summary and cut come from the session.
	restored bool
	summary  standing
	// cut is the first message of the conversation that is sent; cutMoved is set if the session has
	// another one.
	cut      int
	cutMoved bool
	// short is the start of the latest step whose results were shortened; 0 for none.
	short int
	// effect describes the trimming of the latest request, shown the last reported trimming.
	effect, shown event.ContextTrimmed
}

// prepareRequest prepares for a request: it reads the conversation, and has it summarized if it has
// become long. It fails if no request can fit.
func (t *turn) prepareRequest(ctx context.Context, p *plugins.PhaseContext) error {
	t.readConversation(p)
	t.trimmer.measures.forgetOld(len(t.conversation))
	if !t.restored {
		t.restored = true
		t.restoreState(p)
		if err := t.checkPinned(string(p.Agent.SystemPrompt)); err != nil {
			return err
		}
	}
	return t.compactConversation(ctx, p)
}

// readConversation reads the conversation, to which the turn only ever appends.
func (t *turn) readConversation(p *plugins.PhaseContext) {
	t.conversation, t.leading = p.Messages, systemMessages(p.Messages)
	t.task = findTask(p, t.leading)
}

// restoreState restores the state stored by earlier turns of the session, if it belongs to this
// conversation.
func (t *turn) restoreState(p *plugins.PhaseContext) {
	if kept := cutKey.Get(p); kept != (mark{}) {
		t.cut = kept.findIn(t.conversation)
		t.cutMoved = t.cut == 0
	}
	if kept := summaryKey.Get(p); kept != (summary{}) {
		covers := kept.Through.findIn(t.conversation)
		if covers <= t.leading && kept.Text != "" {
			kept = summary{}
			summaryKey.Set(p, kept)
		}
		t.summary = newStanding(kept, covers)
	}
}

// fitRequest trims a request to fit.
func (t *turn) fitRequest(messages []model.Message, offered []model.Tool) []model.Message {
	tools := t.plugin.toolTokens(offered)
	start, found := t.findConversation(messages)
	pinned, shift := start, t.leading-start
	task := t.task.plus(-shift)
	switch covered := t.summary.covers; {
	case !found:
		pinned = systemMessages(messages)
		task = t.findTaskIn(messages, pinned)
	case covered > t.leading:
		by := []model.Message{t.summary.message}
		if t.task.start < covered {
			by = append(by, t.conversation[t.task.start:t.task.end]...)
			covered = max(covered, t.task.end)
		}
		messages = slices.Concat(messages[:start], by, messages[start+covered-t.leading:])
		pinned = start + len(by)
		shift = covered - pinned
		task = t.task.plus(-shift)
	}
	previous := 0
	if found {
		previous = t.cut - shift
	}
	t.trimmer.task, t.trimmer.shortest = task, 0
	if found && t.short > 0 {
		t.trimmer.shortest = t.short - shift
	}
	out := t.trimmer.trimRequest(messages, pinned, previous, max(0, t.policy.requestLimit()-tools))
	t.effect = event.ContextTrimmed{
		Dropped: out.dropped, Previews: out.shortened,
		Before: out.before + tools, After: out.after + tools, Limit: t.policy.requestLimit(),
	}
	if found && t.trimmer.allShort {
		t.short = t.trimmer.latest + shift
	}
	if found && out.cut > pinned && out.cut+shift != t.cut {
		t.cut, t.cutMoved = out.cut+shift, true
	}
	return out.messages
}

// findConversation returns the start of the conversation, after its leading system messages, in a
// request that adds messages before and after it.
func (t *turn) findConversation(request []model.Message) (start int, found bool) {
	rest := t.conversation[t.leading:]
	if len(rest) == 0 {
		return 0, false
	}
	first, last := identityOf(&rest[0]), identityOf(&rest[len(rest)-1])
	for i := 0; i+len(rest) <= len(request); i++ {
		if identityOf(&request[i]) == first && identityOf(&request[i+len(rest)-1]) == last {
			return i, true
		}
	}
	return 0, false
}

// systemMessages counts the leading system messages.
func systemMessages(messages []model.Message) int {
	n := 0
	for n < len(messages) && messages[n].Role == model.RoleSystem {
		n++
	}
	return n
}

// reportTrimming emits the trimming of the request if it changed, and keeps the cut for later
// requests. It runs after the model's answer or, for a failed request, at the end of the turn.
func (t *turn) reportTrimming(_ context.Context, p *plugins.PhaseContext) error {
	if t.cutMoved && t.cut <= len(p.Messages) {
		cutKey.Set(p, markOf(p.Messages, t.cut))
		t.cutMoved = false
	}
	if t.effect.Dropped != t.shown.Dropped || t.effect.Previews != t.shown.Previews {
		t.shown = t.effect
		shown := t.effect
		p.Emit(&shown)
	}
	return nil
}
