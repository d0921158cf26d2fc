package agentruns

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/agentruntime/agentruntime/server"
)

// runView is a run as clients read it.
type runView struct {
	ID            string                     `json:"id"`
	RunID         string                     `json:"runId" jsonschema:"The same as id."`
	SessionID     *string                    `json:"sessionId" null:"true" jsonschema:"Null when the run is of no session."`
	Status        string                     `json:"status" ref:"Status"`
	FinalText     *string                    `json:"finalText" null:"true" jsonschema:"The result of the run, or its partial text when it failed."`
	Error         *string                    `json:"error" null:"true"`
	FailureReason *failureReason             `json:"failureReason" null:"true"`
	Spec          fields                     `json:"spec"`
	AgentSpec     fields                     `json:"agentSpec"`
	Metadata      map[string]json.RawMessage `json:"metadata" additionalProperties:"{'type':'string'}"`
	Pending       []pendingInteraction       `json:"pendingInteractions" jsonschema:"What the run waits for, the oldest first, with the calls of tools that the client runs."`
	Tokens        *tokens                    `json:"tokens" null:"true" jsonschema:"Null until the run has ended."`
	Turns         *int                       `json:"turns" null:"true" jsonschema:"Null until the run has ended."`
	Model         *modelUsed                 `json:"model" null:"true" jsonschema:"Null until the run has ended."`
	CreatedAt     moment                     `json:"createdAt"`
	StartedAt     *moment                    `json:"startedAt" null:"true"`
	EndedAt       *moment                    `json:"endedAt" null:"true"`
}

// failureReason says why a run failed.
type failureReason struct {
	ErrorClass   string  `json:"errorClass"`
	FinishReason *string `json:"finishReason,omitempty" ref:"FinishReason"`
}

// readRun responds with the current state of a run.
func (c *call) readRun() error {
	ctx := c.r.Context()
	found, err := c.getRun(ctx)
	if err != nil {
		return err
	}
	metadata, err := metadataOf(found.record.Spec)
	if err != nil {
		return err
	}
	view := runView{
		ID: found.ID, RunID: found.ID, Status: found.runStatus(), Spec: found.record.Spec, AgentSpec: found.record.Spec, Metadata: metadata,
		CreatedAt: moment(found.CreatedAt), StartedAt: momentOf(found.StartedAt), EndedAt: momentOf(found.FinishedAt),
	}
	if found.record.InSession {
		view.SessionID = &found.SessionID
	}
	if view.Pending, err = c.pendingInteractions(ctx, found); err != nil {
		return err
	}
	if !found.Status.Live() {
		last, used, err := c.terminalPayload(ctx, found)
		if err != nil {
			return err
		}
		view.setOutcome(last, used)
	}
	return server.WriteJSON(c.w, http.StatusOK, view)
}

// terminalPayload returns the payload of a finished run's last event and the run's usage.
func (c *call) terminalPayload(ctx context.Context, found *run) (payload, usage, error) {
	t := newTranslator(found.record.runFacts)
	for record, err := range c.settings.Service.Events(ctx, c.caller, found.ID, 0) {
		if err != nil {
			return nil, usage{}, err
		}
		frames, err := t.translateRecord(&record)
		if err != nil {
			return nil, usage{}, err
		}
		if record.Terminal() && len(frames) == 1 {
			return frames[0].Payload, t.used, nil
		}
	}
	if found.Outcome == nil {
		return nil, t.used, nil
	}
	return t.outcomeFrame(found.Outcome).Payload, t.used, nil
}

// setOutcome sets the fields of the run's outcome.
func (v *runView) setOutcome(last payload, used usage) {
	v.Tokens, v.Turns, v.Model = &used.Tokens, &used.Turns, &used.Model
	switch p := last.(type) {
	case runResult:
		v.FinalText = p.Text
		if !p.OK {
			v.Status, v.Error, v.FailureReason = statusFailed, &p.Error, &failureReason{ErrorClass: p.Subtype}
		}
	case runError:
		v.Status, v.FinalText, v.Error = statusFailed, p.PartialText, &p.Error
		v.FailureReason = &failureReason{ErrorClass: p.ErrorClass, FinishReason: p.FinishReason}
	}
}
