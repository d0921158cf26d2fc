package agentruns

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// actionClientCall is what the interaction of a call asks for that the client
// answers.
const actionClientCall = clienttool.Action

// kindLocal is the kind of a tool that the client runs itself.
const kindLocal = "local"

// askPayloads returns the event that asks for what the run waits for: the client for
// the result of a call, anyone with permission for an approval and the like.
func (t *translator) askPayloads(d *event.InteractionRequest) []payload {
	if t.asked[d.ID] != nil {
		return nil
	}
	setEntry(&t.asked, d.ID, d)
	if !forClient(d.Action) {
		return []payload{interactionOf(&d.Request, t.clientToolName(d.Tool))}
	}
	if d.Action != actionClientCall {
		return []payload{localToolCall{ToolUseID: d.CallID, Name: d.Tool, Args: questionArgs(d), echo: localEcho{Kind: kindLocal}}}
	}
	call := localToolCall{ToolUseID: d.CallID, Name: d.Tool, Args: rawjson.Object(d.Arguments), echo: localEcho{Kind: kindLocal}}
	_ = json.Unmarshal(d.Parameters, &call.echo) // they are the tool's own; without them the call is a local one
	call.echo.clipFields()
	return []payload{call}
}

// answerPayloads returns the event that shows what was answered.
func (t *translator) answerPayloads(d *event.ToolCallResumed) []payload {
	asked := t.asked[d.TargetID]
	if asked == nil {
		return nil
	}
	again := t.resolved[d.TargetID]
	setEntry(&t.resolved, d.TargetID, true)
	switch {
	case !forClient(asked.Action) && again, forClient(asked.Action) && d.Action != "resume":
		return nil
	case !forClient(asked.Action):
		return []payload{interactionResolved{InteractionID: asked.ID, ToolUseID: callOf(asked.Tool, asked.CallID), Action: d.Action, Result: d.Result}}
	case asked.Action != actionClientCall:
		setEntry(&t.answered, asked.CallID, true)
		text := echoText(answerText(d.Result))
		return []payload{localToolResultIn{ToolUseID: asked.CallID, Result: &text, Output: &text}}
	}
	var given struct {
		Result string  `json:"result"`
		Error  *string `json:"error"`
	}
	if json.Unmarshal(d.Result, &given) != nil {
		return nil
	}
	setEntry(&t.answered, asked.CallID, true)
	in := localToolResultIn{ToolUseID: asked.CallID}
	if given.Error != nil {
		text := echoText(*given.Error)
		in.Error = &text
	} else {
		text := echoText(given.Result)
		in.Result, in.Output = &text, &text
	}
	return []payload{in}
}

// timedOut describes what a run waited for too long: unless it waited only for an
// approval or the like, the client is at fault.
func (t *translator) timedOut() (text, subtype string) {
	others := 0
	for id, asked := range t.asked {
		switch {
		case t.resolved[id]:
		case forClient(asked.Action):
			return "Timed out waiting for local tool result", subtypeLocalTimeout
		default:
			others++
		}
	}
	if others > 0 {
		return "Timed out waiting for the answer to an interaction", ""
	}
	return "Timed out waiting for local tool result", subtypeLocalTimeout
}

// subtypeLocalTimeout is what clients know the end of a run by that waited too
// long for one of them.
const subtypeLocalTimeout = "error_local_tool_timeout"

// callOf returns the id of the call that waits; empty where none does, as with the
// question of an agent elsewhere.
func callOf(tool, callID string) string {
	if tool == "" {
		return ""
	}
	return callID
}

// setEntry sets an entry of a map, which is made with the first one: most streams need none
// of a translator's maps.
func setEntry[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[key] = value
}
