package agentruns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/store"
)

// interactionView is what a run waits for, in its snapshot and in the event that
// says so.
type interactionView struct {
	InteractionID string `json:"interactionId"`
	// ToolUseID, Name and Args are those of the call that waits, if one does.
	ToolUseID string          `json:"toolUseId,omitempty"`
	Name      string          `json:"name,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"`
	// Action says what is asked for, as in tool:PermissionConfirm.
	Action  string `json:"action"`
	Message string `json:"message"`
	// Parameters are what a program needs to know to answer.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// ResponseSchema is the JSON Schema of an answer; without one it is any.
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
}

// pendingInteraction is what a run waits for and since when, in its snapshot.
type pendingInteraction struct {
	interactionView
	CreatedAt moment  `json:"createdAt"`
	ExpiresAt *moment `json:"expiresAt"`
}

// interactionFacts is what is known of an interaction, from a log or from the
// store.
type interactionFacts struct {
	ID, CallID, Tool, Action, Message     string
	Arguments, Parameters, ResponseSchema json.RawMessage
}

func interactionOf(f *interactionFacts) interactionView {
	v := interactionView{InteractionID: f.ID, Action: f.Action, Message: f.Message, Parameters: f.Parameters, ResponseSchema: f.ResponseSchema}
	if v.ToolUseID = callOf(f.Tool, f.CallID); v.ToolUseID != "" {
		v.Name, v.Args = f.Tool, f.Arguments
	}
	return v
}

// pending returns what a run waits for, the oldest first: calls of the client and
// questions to it, too.
func (c *call) pending(ctx context.Context, found *run) ([]pendingInteraction, error) {
	list := []pendingInteraction{}
	if !found.Status.Live() {
		return list, nil
	}
	asked, err := c.Service.ListInteractions(ctx, c.caller, store.InteractionQuery{TurnID: found.ID, State: store.InteractionPending})
	if err != nil {
		return nil, err
	}
	t := newTranslator(found.record.facts())
	for _, i := range asked {
		tool := i.Ticket.Tool
		if !forClient(i.Ticket.Action) {
			tool = t.name(tool)
		}
		list = append(list, pendingInteraction{
			interactionView: interactionOf(&interactionFacts{
				ID: i.ID, CallID: i.Ticket.CallID, Tool: tool, Arguments: i.Ticket.Arguments, Action: i.Ticket.Action, Message: i.Ticket.Message,
				Parameters: i.Ticket.Parameters, ResponseSchema: i.Ticket.ResponseSchema,
			}),
			CreatedAt: moment(i.CreatedAt), ExpiresAt: known(i.ExpiresAt),
		})
	}
	return list, nil
}

// readResolution reads the body of the answer to an interaction.
func readResolution(f fields, target string) (plugins.Resolution, error) {
	r := plugins.Resolution{Target: target, Result: f["result"], Arguments: f["arguments"]}
	for _, err := range []error{
		f.read("id", &r.ID, "a string"), f.read("action", &r.Action, "a string"), f.read("reason", &r.Reason, "a string"),
	} {
		if err != nil {
			return r, err
		}
	}
	switch r.Action {
	case "":
		r.Action = plugins.ActionResume
	case plugins.ActionResume, plugins.ActionCancel:
	default:
		return r, invalid("action must be %s or %s", plugins.ActionResume, plugins.ActionCancel)
	}
	return r, nil
}

// resolveInteraction takes in the answer to what a run waits for. The same answer
// again changes nothing, also when the run has ended since.
func (c *call) resolveInteraction() error {
	ctx := c.r.Context()
	found, f, warnings, err := c.readAnswer(ctx, resolutionFields)
	if err != nil {
		return err
	}
	target := c.r.PathValue("interaction")
	answer, err := readResolution(f, target)
	if err != nil {
		return err
	}
	if _, err = c.Service.ResolveInteraction(ctx, c.caller, found.ID, answer); err != nil {
		return resolutionError(err, found, target)
	}
	return server.WriteJSON(c.w, http.StatusOK, done{OK: true, Warnings: warnings})
}

// resolutionError returns why an answer is not taken as whoever asks reads it.
func resolutionError(err error, found *run, target string) error {
	if wrong, ok := errors.AsType[*backend.ResolutionError](err); ok {
		return invalid("the answer to interaction %q cannot be used: %s", clip.Text(target), wrong.Problem)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return &requestError{Code: codeUnknownInteraction, Message: fmt.Sprintf("run %s has no interaction %q", found.ID, clip.Text(target))}
	case errors.As(err, new(*store.ConflictError)):
		return &requestError{Code: codeAnswered, Message: fmt.Sprintf("interaction %q has another answer already", clip.Text(target))}
	case errors.As(err, new(*store.StateError)):
		return ended(found)
	default:
		return err
	}
}
