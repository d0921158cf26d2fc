package agentruns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// own is this protocol's member of the metadata of turns and sessions, and ownKey the label of its
// sessions.
const (
	own    surfacekit.Own = "agent_runs"
	ownKey                = string(own)
)

// runPrefix is the prefix of run ids. Turns created by other surfaces and runs of older servers
// have none.
const runPrefix = "run_"

// Values of the label: a client's session, and one created for a single run or for an A2A
// conversation.
const (
	labelSession = "session"
	labelRun     = "run"
	labelA2A     = "a2a"
)

// runRecord is stored with a turn that is a run. Turns without one are not runs.
type runRecord struct {
	// Spec is the request without the input and the values of headers.
	Spec fields `json:"spec"`
	runFacts
	// InSession is set when the client knows the session.
	InSession bool `json:"in_session,omitempty"`
}

// The states of a run.
const (
	statusQueued    = "queued"
	statusRunning   = "running"
	statusSucceeded = "succeeded"
	statusFailed    = "failed"
	statusCanceled  = "cancelled"
)

// run is a turn as a run.
type run struct {
	*service.Turn
	record runRecord
}

// getRun returns the run in the path. Turns that are not runs, and other callers' runs, are not
// found.
func (c *call) getRun(ctx context.Context) (*run, error) {
	id := c.r.PathValue("id")
	turn, err := c.settings.Service.GetTurn(ctx, c.caller, id)
	found := &run{Turn: turn}
	if errors.Is(err, service.ErrNotFound) || err == nil && !own.Decode(turn.Metadata, &found.record) {
		return nil, &requestError{Code: codeNotFound, Message: fmt.Sprintf("run %q not found", id)}
	}
	return found, err
}

// runRef locates a run.
type runRef struct {
	RunID     string   `json:"runId"`
	StreamURL string   `json:"streamUrl" jsonschema:"The path of its stream."`
	Warnings  warnings `json:"warnings,omitempty"`
}

// createRun begins a run.
func (c *call) createRun() error {
	f, warnings, again, err := c.readSpec("run")
	if err != nil {
		return err
	}
	made, more, err := c.beginTurn(f, nil, labelRun, again)
	if err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusAccepted, c.refTo(made, append(warnings, more...)))
}

func (c *call) refTo(turn *service.Turn, warnings []warning) runRef {
	return runRef{Warnings: warnings, RunID: turn.ID, StreamURL: "/api/v1/workspaces/" + url.PathEscape(c.caller.Tenant) + "/agent-runs/" + url.PathEscape(turn.ID) + "/stream"}
}

// beginTurn creates the turn for a body, in the given session or in a new one with a label. The
// warnings list the parts of the body that have no effect.
func (c *call) beginTurn(f fields, session *service.Session, label string, again repetition) (*service.Turn, []warning, error) {
	asked, err := readRequest(f, forRun)
	if err != nil {
		return nil, nil, err
	}
	k := c.newComposer(c.r.Context(), c.caller)
	if session != nil && asked.AgentID != "" {
		if k.current, err = c.settings.Service.CurrentAgent(c.r.Context(), session, asked.AgentID); err != nil {
			return nil, nil, err
		}
	}
	made, err := k.composeTurn(c.caller, asked)
	if err != nil {
		return nil, nil, err
	}
	record := runRecord{
		Spec: redactSpec(specOf(f)), InSession: session != nil && label == labelSession,
		runFacts: runFacts{
			Model: k.modelOf(made), Local: localNames(asked.tools),
			Thinks: made.Ephemeral == nil && asked.effort == nil || asked.effort != nil && *asked.effort > 0,
		},
	}
	if made.Metadata, err = own.Encode(record); err != nil {
		return nil, nil, err
	}
	made.ID = runPrefix + c.settings.Service.NewID()
	made.IdempotencyKey, made.IdempotencyBody = again.key, again.body
	ctx := c.r.Context()
	var turn *service.Turn
	if session == nil {
		turn, err = surfacekit.BeginAlone(ctx, c.settings.Service, c.caller, made, service.CreateSession{
			AgentID: asked.AgentID, Labels: map[string]string{ownKey: label}, IdempotencyKey: again.key, IdempotencyBody: again.body,
		})
	} else {
		made.SessionID = session.ID
		turn, err = c.settings.Service.CreateTurn(ctx, c.caller, *made)
	}
	return turn, asked.warnings, err
}

// localNames maps the model's names of client tools to the client's names.
func localNames(refs []toolRef) map[string]string {
	names := make(map[string]string)
	for i := range refs {
		for _, t := range refs[i].clientTools() {
			names[t.id] = t.id
			if t.config.Name != "" {
				names[t.id] = t.config.Name
			}
		}
	}
	return names
}

// modelOf names the model of a turn.
func (c *composer) modelOf(turn *service.CreateTurn) modelUsed {
	var agent *spec.Agent
	if turn.Ephemeral != nil {
		agent = &turn.Ephemeral.Agent
	} else if declared, ok := c.set.Agent(cmp.Or(c.current, turn.AgentID)); ok {
		agent, _ = c.set.Defaults.Apply(declared)
	}
	// Clients read an empty provider as no usage at all.
	used := modelUsed{ID: "unknown", Provider: "unknown", VendorModelID: "unknown"}
	if agent == nil || !agent.UsesTools() {
		return used
	}
	if agent.Hosted() {
		name := cmp.Or(agent.Model(), used.ID)
		used = modelUsed{ID: name, Provider: agent.Endpoint.Target, VendorModelID: name}
	}
	for _, m := range modelsOf(c.set, c.settings.DefaultModel).list {
		if agent.Local() && m.declared == agent.ModelID {
			used = modelUsed{ID: m.ID, Provider: m.Provider, VendorModelID: m.VendorModelID}
		}
	}
	effort := turn.Params.ReasoningEffort
	if effort == nil {
		return used
	}
	switch n := effort.Percent; {
	case n <= 0:
		used.ReasoningEffort = "off"
	case n <= lowEffort:
		used.ReasoningEffort = "low"
	case n <= mediumEffort:
		used.ReasoningEffort = "medium"
	default:
		used.ReasoningEffort = "high"
	}
	return used
}

// The percentages up to which an effort is called low and medium.
const (
	lowEffort    = 35
	mediumEffort = 65
)

// cancelRun ends a run. A run that has ended does not change.
func (c *call) cancelRun() error {
	ctx := c.r.Context()
	found, err := c.getRun(ctx)
	if err != nil {
		return err
	}
	found.Turn, err = c.settings.Service.CancelTurn(ctx, c.caller, found.ID, "the client canceled the run")
	if err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, done{OK: true, Status: found.runStatus()})
}

// runStatus returns the run's state according to its turn.
func (r *run) runStatus() string {
	switch r.Status {
	case service.Pending:
		if r.StartedAt.IsZero() {
			return statusQueued
		}
		return statusRunning
	case service.Succeeded:
		return statusSucceeded
	case service.Failed:
		return statusFailed
	case service.Canceled:
		return statusCanceled
	default:
		return statusRunning
	}
}
