package agentruns

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// Limits for client answers, in bytes.
const (
	maxToolResult = 2 << 20
	maxToolError  = 8 << 10
)

// newToolAnswer returns the tool's result in a body. Unless strict is set, a body with neither a
// result nor an error is an empty result.
func newToolAnswer(body *toolResultBody, strict bool) (*toolAnswer, error) {
	a := &toolAnswer{body.ToolUseID, clienttool.Answer{Result: body.Result, Files: body.Files, Error: body.Error}}
	switch {
	case a.toolUseID == "":
		return nil, newInvalid("toolUseId is required")
	case a.Result != nil && a.Error != nil:
		return nil, newInvalid("result and error exclude each other")
	case a.Files != nil && a.Error != nil:
		return nil, newInvalid("files and error exclude each other")
	case a.Result == nil && a.Error == nil && strict:
		return nil, newInvalid("either result or error is required")
	case a.Result == nil && a.Error == nil:
		a.Result = new(string)
	case a.Result != nil && len(*a.Result) > maxToolResult:
		return nil, newInvalid("result has %d bytes; %d are allowed", len(*a.Result), maxToolResult)
	case a.Error != nil && len(*a.Error) > maxToolError:
		return nil, newInvalid("error has %d bytes; %d are allowed", len(*a.Error), maxToolError)
	}
	return a, checkFiles(a.Files)
}

// checkFiles checks the files of a tool's result.
func checkFiles(files []clienttool.File) error {
	size := 0
	for i := range files {
		switch size += len(files[i].Data); {
		case files[i].MediaType == "":
			return newInvalid("files[%d].mimeType is required", i)
		case len(files[i].Data) == 0:
			return newInvalid("files[%d].data must be base64 of at least one byte", i)
		case size > maxToolResult:
			return newInvalid("files have more than %d bytes", maxToolResult)
		}
	}
	return nil
}

// readAnswer reads an answer to a run into a pointer to its body. It returns the run, and warnings
// about fields that have no effect.
func (c *call) readAnswer(ctx context.Context, body any) (*run, []warning, error) {
	found, err := c.getRun(ctx)
	if err != nil {
		return nil, nil, err
	}
	f, err := c.readBody()
	if err != nil {
		return nil, nil, err
	}
	warnings, err := f.warnUnknown("", namesOf(body)...)
	if err == nil {
		err = f.decode("", body)
	}
	return found, warnings, err
}

// toolResult accepts the result of a client tool call.
func (c *call) toolResult() error {
	ctx := c.r.Context()
	var body toolResultBody
	found, warnings, err := c.readAnswer(ctx, &body)
	if err != nil {
		return err
	}
	answer, err := newToolAnswer(&body, c.settings.StrictToolResults)
	if err != nil {
		return err
	}
	asked, wasAsked, err := c.askedOf(ctx, found, answer.toolUseID)
	if err != nil {
		return err
	}
	if !found.Status.Live() {
		// The client may not know yet that the run was canceled.
		if found.Status == service.Canceled && wasAsked && asked.State == service.InteractionCanceled {
			return server.WriteJSON(c.w, http.StatusOK, done{OK: true, Warnings: warnings})
		}
		return errRunEnded(found)
	}
	if !wasAsked || asked.State != service.InteractionPending {
		return unknownToolUse(answer.toolUseID)
	}
	if err := c.resolveToolCall(ctx, found, asked, answer); err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, done{OK: true, Warnings: warnings})
}

// askedOf returns a run's request to its client for a call; false if absent.
func (c *call) askedOf(ctx context.Context, found *run, callID string) (asked *service.Interaction, ok bool, err error) {
	list, err := c.settings.Service.ListInteractions(ctx, c.caller, service.InteractionQuery{TurnID: found.ID})
	if err != nil {
		return nil, false, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if t := &list[i].Request; forClient(t.Action) && t.CallID == callID {
			return list[i], true, nil
		}
	}
	return nil, false, nil
}

// resolveToolCall passes the answer to the run, unless another answer came first.
func (c *call) resolveToolCall(ctx context.Context, found *run, asked *service.Interaction, answer *toolAnswer) error {
	resolution, err := resolutionOf(ctx, &asked.Request, answer)
	if err != nil {
		return err
	}
	_, err = c.settings.Service.AnswerInteraction(ctx, c.caller, found.ID, resolution)
	if errors.As(err, new(*service.ConflictError)) {
		return unknownToolUse(answer.toolUseID)
	}
	if errors.As(err, new(*service.StateError)) {
		return errRunEnded(found)
	}
	return err
}

func unknownToolUse(id string) error {
	return &requestError{Code: codeUnknownToolUse, Message: fmt.Sprintf("no call %q waits for an answer", clip.Text(id))}
}

func errRunEnded(found *run) error {
	return &requestError{Code: codeRunTerminal, Message: fmt.Sprintf("run %s has ended", found.ID)}
}
