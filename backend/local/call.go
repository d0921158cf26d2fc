package local

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// call is one tool call of a step.
type call struct {
	*model.ToolCall
	entry *toolset.Entry
	phase callPhase
	// result and outcome are set for a call with a result; skipped is set if a guard provided it.
	result  tools.Result
	outcome event.CallOutcome
	skipped bool
	begun   time.Time
	// life is the context of an executed call.
	life *callContext
	// span observes the call; it may be nil.
	span *telemetry.ToolSpan
	// journal is the index of the call's entry in the turn's journal.
	journal int
	// left holds the call's effects, apart from its result; nil if absent.
	left *backend.Aftermath

	waiting
}

// waiting is the state of a call that waits, or has waited, for outside input.
type waiting struct {
	interactions []*backend.Interaction
	answers      []interaction.Answer
	// resume is the tool's state to continue from, and resumed is passed to the tool.
	resume  json.RawMessage
	resumed *tools.Resumed
	// edited is set if a person changed the arguments.
	edited bool
}

// ensureAftermath returns the call's aftermath and creates it if necessary.
func (c *call) ensureAftermath() *backend.Aftermath {
	if c.left == nil {
		c.left = new(backend.Aftermath)
	}
	return c.left
}

// callsOf returns the calls that an answer requests.
func callsOf(answer *model.Message) []call {
	asked := answer.ToolCalls()
	calls := make([]call, len(asked))
	for i, c := range asked {
		calls[i].ToolCall = c
	}
	return calls
}

// applyMove changes the phase of a call.
func (c *call) applyMove(m callMove) {
	next, ok := c.phase.afterMove(m)
	if !ok {
		panic(fmt.Sprintf("tool call %q is %s and cannot %s", c.ID, c.phase, m))
	}
	c.phase = next
}

// outcomeSoFar returns a call's outcome for states and journals; "" while unknown.
func (c *call) outcomeSoFar() event.CallOutcome {
	if c.phase == callWaiting {
		return event.CallSuspended
	}
	return c.outcome
}

// resultMessage returns the call's result for the conversation.
func (c *call) resultMessage() model.ToolResult {
	return model.ToolResult{CallID: c.ID, Name: c.Name, Content: c.result.Content, IsError: c.result.IsError}
}

// interactionByID returns the call's interaction with an id, or nil.
func (c *call) interactionByID(id string) *backend.Interaction {
	for _, request := range c.interactions {
		if request.ID == id {
			return request
		}
	}
	return nil
}

// passAnswers passes the answers to the tool, if the tool created the interaction.
func (c *call) passAnswers(request *backend.Interaction) {
	if request != nil && request.Mode == interaction.PassDecisionToTool {
		c.resumed = &tools.Resumed{Answers: c.toolAnswers(), State: c.resume}
	}
}

// editArguments replaces the arguments of the call, but not in the conversation.
func (c *call) editArguments(arguments json.RawMessage) {
	edited := *c.ToolCall
	edited.Arguments = arguments
	c.ToolCall, c.edited = &edited, true
}

// toolAnswers returns the answers for a tool that waited.
func (c *call) toolAnswers() []interaction.Answer {
	list := make([]interaction.Answer, 0, len(c.answers))
	for _, r := range c.answers {
		if request := c.interactionByID(r.Target); request != nil {
			r.Target = request.Question
		}
		list = append(list, r)
	}
	return list
}
