// Package surfacekit has the shared code of surfaces: conversion of messages, records of sessions
// and turns, turns in new sessions, repeated requests, and the ends of streams and turns.
package surfacekit

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/display"
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

// roles maps message roles to model roles. Tool results of earlier turns become user text.
var roles = map[string]model.Role{
	RoleUser: model.RoleUser, RoleSystem: model.RoleSystem, RoleDeveloper: model.RoleSystem, RoleAssistant: model.RoleAssistant, RoleTool: model.RoleUser,
}

// Role returns the model's role for a message's role; false for an unknown one.
func Role(name string) (model.Role, bool) {
	role, ok := roles[name]
	return role, ok
}

// CallText returns a call that the turn did not make, as text for the model. The arguments are
// JSON.
func CallText(id, tool, arguments string) model.Part {
	return model.Text(fmt.Sprintf("[call %s of tool %s: %s]", id, tool, arguments))
}

// ResultText returns the result of such a call as text for the model. The status is like an HTTP
// status, or 0.
func ResultText(callID string, status int, content string) model.Part {
	state := "result"
	if status >= http.StatusBadRequest {
		state = fmt.Sprintf("error %d", status)
	}
	return model.Text(fmt.Sprintf("[%s of call %s: %s]", state, callID, content))
}

// OutputText returns the text of a client function's result. It only names images and files,
// because results are text.
func OutputText(parts []model.Part) string {
	var b strings.Builder
	for i := range parts {
		if blob := parts[i].Blob; blob != nil {
			fmt.Fprintf(&b, "[%s left out: results of functions are text]", cmp.Or(clip.Text(blob.MediaType), clip.Text(blob.Name), "file"))
			continue
		}
		b.WriteString(parts[i].Text)
	}
	return b.String()
}

// SplitInput returns the messages up to the assistant's last one, and the input after them; false
// without input.
func SplitInput(all []model.Message) (before, input []model.Message, ok bool) {
	last := -1
	for i := range all {
		if all[i].Role == model.RoleAssistant {
			last = i
		}
	}
	return all[:last+1], all[last+1:], last < len(all)-1
}

// StatusMessage returns why a turn did not succeed; empty if it did. structured is set if the turn
// had an output schema.
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
