// Package surfacekit has what surfaces share: how messages become those of the model, the
// records that a surface keeps with sessions and turns, turns in sessions of their own,
// repeated requests, and the ends of streams and turns.
package surfacekit

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/display"
	"github.com/agentruntime/agentruntime/model"
)

// The roles of messages.
const (
	RoleUser      = "user"
	RoleSystem    = "system"
	RoleDeveloper = "developer"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// roles are those of the model. What tools of earlier turns answered is shown to it as
// text of the user.
var roles = map[string]model.Role{
	RoleUser: model.RoleUser, RoleSystem: model.RoleSystem, RoleDeveloper: model.RoleSystem, RoleAssistant: model.RoleAssistant, RoleTool: model.RoleUser,
}

// Role returns the role of the model for that of a message; false for an unknown one.
func Role(name string) (model.Role, bool) {
	role, ok := roles[name]
	return role, ok
}

// CallText returns a call that the turn did not make as the model reads it. The arguments
// are JSON.
func CallText(id, tool, arguments string) model.Part {
	return model.Text(fmt.Sprintf("[call %s of tool %s: %s]", id, tool, arguments))
}

// ResultText returns what came of such a call as the model reads it. The status is like
// that of an HTTP response, or 0.
func ResultText(callID string, status int, content string) model.Part {
	state := "result"
	if status >= http.StatusBadRequest {
		state = fmt.Sprintf("error %d", status)
	}
	return model.Text(fmt.Sprintf("[%s of call %s: %s]", state, callID, content))
}

// SplitInput returns what was said before a turn, up to the last message of the assistant,
// and the input, which is what follows; false if nothing does.
func SplitInput(all []model.Message) (before, input []model.Message, ok bool) {
	last := -1
	for i := range all {
		if all[i].Role == model.RoleAssistant {
			last = i
		}
	}
	return all[:last+1], all[last+1:], last < len(all)-1
}

// StatusMessage returns why a turn did not succeed; empty if it did. A structured turn was
// to answer in a form.
func StatusMessage(why *event.Termination, structured bool) string {
	switch why.Status() {
	case event.StatusFailed:
		text := display.FailureText(why)
		if structured && why.Code == string(model.InvalidOutput) {
			return "response_schema validation failed: " + text
		}
		return text
	case event.StatusCanceled:
		return cmp.Or(why.Detail, "canceled")
	default:
		return ""
	}
}
