package local

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/tools"
)

// suspendCall makes a call wait for its interactions, and shows them. A call that could not be
// answered or stored fails instead.
func (t *turn) suspendCall(c *call, interactions []*backend.Interaction) {
	if problem := whyUnanswerable(interactions, c.resume); problem != "" {
		c.resume = nil
		t.settleCall(c, tools.ErrorResult("the call cannot wait: "+problem), event.CallFailed)
		return
	}
	c.applyMove(moveSuspend)
	c.interactions, c.answers = nil, nil
	for _, request := range interactions {
		request.ID = t.freeID(c, request)
		c.interactions = append(c.interactions, request)
		request.CallID = c.ID
		request.Tool = clip.Clean(cmp.Or(request.Tool, c.Name))
		request.Action, request.Message = clip.Clean(request.Action), clip.Clean(request.Message)
		if len(request.Arguments) == 0 {
			request.Arguments = rawjson.Encode(c.Arguments)
		}
		request.Mode = cmp.Or(request.Mode, interaction.ReplayToolCall)
		t.host.Emit(&event.InteractionRequest{Request: request.Request})
	}
}

// whyUnanswerable returns why a call cannot wait for interactions and store its tool's state, or
// "".
func whyUnanswerable(interactions []*backend.Interaction, resume json.RawMessage) string {
	malformed := func(raw json.RawMessage) bool { return len(raw) > 0 && !json.Valid(raw) }
	if len(interactions) == 0 {
		return "it asks nothing"
	}
	if malformed(resume) {
		return "its state is not JSON"
	}
	for _, request := range interactions {
		if !clip.IsClean(request.ID) { // no answer could refer to it
			return "the id of its question holds a NUL or is not UTF-8"
		}
		if malformed(request.Parameters) || malformed(request.Arguments) {
			return "the parameters or arguments of its question are not JSON"
		}
		if len(request.ResponseSchema) == 0 {
			continue
		}
		if _, err := schema.Compile(request.ResponseSchema); err != nil {
			return fmt.Sprintf("its answer schema is not a valid JSON Schema: %v", err)
		}
	}
	return ""
}

// freeID returns an interaction's id: its own or its call's, unless the turn already used that id.
// A late answer to the earlier interaction must not answer this one.
func (t *turn) freeID(c *call, request *backend.Interaction) string {
	id := cmp.Or(request.ID, c.ID)
	for n := 2; t.knowsInteraction(id); n++ {
		id = cmp.Or(request.ID, c.ID) + "#" + strconv.Itoa(n)
	}
	return id
}

func (t *turn) knowsInteraction(id string) bool {
	if _, answered := t.resolved[id]; answered {
		return true
	}
	for i := range t.calls {
		if slices.ContainsFunc(t.calls[i].interactions, func(other *backend.Interaction) bool { return other.ID == id }) {
			return true
		}
	}
	return false
}

// interactionsOf returns the interactions of a waiting tool's call.
func interactionsOf(wait *tools.Wait) []*backend.Interaction {
	mode := interaction.PassDecisionToTool
	if wait.AnswerIsResult {
		mode = interaction.UseDecisionAsToolResult
	}
	interactions := make([]*backend.Interaction, len(wait.Questions))
	for i, q := range wait.Questions {
		q.Mode = mode
		interactions[i] = &backend.Interaction{Request: q, Question: q.ID}
	}
	return interactions
}
