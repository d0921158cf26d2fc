package agentruns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// pendingInteraction is an open interaction in a run's snapshot, with its time.
type pendingInteraction struct {
	interactionView
	CreatedAt moment  `json:"createdAt"`
	ExpiresAt *moment `json:"expiresAt" null:"true" jsonschema:"The time when the run stops waiting."`
}

// interactionView is an open interaction in a run's snapshot or event.
type interactionView struct {
	InteractionID string `json:"interactionId"`
	// ToolUseID, Name and Args describe the waiting call, if any.
	ToolUseID      string          `json:"toolUseId,omitempty" jsonschema:"The waiting call, if there is one."`
	Name           string          `json:"name,omitempty" jsonschema:"Its tool."`
	Args           json.RawMessage `json:"args,omitempty" jsonschema:"Its arguments."`
	Action         string          `json:"action" jsonschema:"The requested action, as in tool:PermissionConfirm."`
	Message        string          `json:"message" jsonschema:"The message for a person."`
	Parameters     json.RawMessage `json:"parameters,omitempty" jsonschema:"Data for a program that answers."`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty" jsonschema:"The JSON Schema of the answer; any JSON without one."`
}

// interactionOf shows a request with the client's name for the tool.
func interactionOf(request *interaction.Request, tool string) interactionView {
	v := interactionView{
		InteractionID: request.ID, Action: request.Action, Message: request.Message, Parameters: request.Parameters, ResponseSchema: request.ResponseSchema,
	}
	if v.ToolUseID = callOf(tool, request.CallID); v.ToolUseID != "" {
		v.Name, v.Args = tool, request.Arguments
	}
	return v
}

// pendingInteractions returns the open interactions of a run, oldest first, including the
// client's calls and questions.
func (c *call) pendingInteractions(ctx context.Context, found *run) ([]pendingInteraction, error) {
	list := []pendingInteraction{}
	if !found.Status.Live() {
		return list, nil
	}
	asked, err := c.settings.Service.ListInteractions(ctx, c.caller, service.InteractionQuery{TurnID: found.ID, State: service.InteractionPending})
	if err != nil {
		return nil, err
	}
	t := newTranslator(found.record.runFacts)
	for _, i := range asked {
		tool := i.Request.Tool
		if !forClient(i.Request.Action) {
			tool = t.clientToolName(tool)
		}
		list = append(list, pendingInteraction{
			interactionView: interactionOf(&i.Request, tool),
			CreatedAt:       moment(i.CreatedAt), ExpiresAt: momentOf(i.ExpiresAt),
		})
	}
	return list, nil
}

// answerTo returns the answer to an interaction in a body.
func (body *resolutionBody) answerTo(target string) (interaction.Answer, error) {
	r := interaction.Answer{Target: target, ID: body.ID, Action: interaction.AnswerAction(body.Action), Result: body.Result, Arguments: body.Arguments, Reason: body.Reason}
	switch r.Action {
	case "":
		r.Action = interaction.Resume
	case interaction.Resume, interaction.Cancel:
	default:
		return r, newInvalid("action must be %s or %s", interaction.Resume, interaction.Cancel)
	}
	return r, nil
}

// resolveInteraction answers an interaction of a run. Repeating an answer changes nothing, even
// after the run has ended.
func (c *call) resolveInteraction() error {
	ctx := c.r.Context()
	var body resolutionBody
	found, warnings, err := c.readAnswer(ctx, &body)
	if err != nil {
		return err
	}
	target := c.r.PathValue("interaction")
	answer, err := body.answerTo(target)
	if err != nil {
		return err
	}
	if _, err = c.settings.Service.AnswerInteraction(ctx, c.caller, found.ID, answer); err != nil {
		return resolutionError(err, found, target)
	}
	return server.WriteJSON(c.w, http.StatusOK, done{OK: true, Warnings: warnings})
}

// resolutionError returns why an answer is rejected, as callers see it.
func resolutionError(err error, found *run, target string) error {
	if wrong, ok := errors.AsType[*interaction.AnswerError](err); ok {
		return newInvalid("the answer to interaction %q cannot be used: %s", clip.Text(target), wrong.Problem)
	}
	switch {
	case errors.Is(err, service.ErrNotFound):
		return &requestError{Code: codeUnknownInteraction, Message: fmt.Sprintf("run %s has no interaction %q", found.ID, clip.Text(target))}
	case errors.As(err, new(*service.ConflictError)):
		return &requestError{Code: codeAnswered, Message: fmt.Sprintf("interaction %q has another answer already", clip.Text(target))}
	case errors.As(err, new(*service.StateError)):
		return errRunEnded(found)
	default:
		return err
	}
}

// callOf returns the id of the waiting call; empty if none waits, as with the question of an agent
// elsewhere.
func callOf(tool, callID string) string {
	if tool == "" {
		return ""
	}
	return callID
}
