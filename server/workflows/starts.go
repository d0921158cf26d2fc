package workflows

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workflow"
	"github.com/google/uuid"
)

// Kind is one of the two kinds of workflow starts.
type Kind string

// The kinds, as in paths.
const (
	Schedules     Kind = "schedules"
	EventTriggers Kind = "event-triggers"
)

func (k Kind) isSchedule() bool { return k == Schedules }

// starts handles requests for schedules or for event triggers.
type starts struct {
	*surface
	kind Kind
}

// StartList is all schedules or triggers that the caller sees.
type StartList struct {
	Items []*Start `json:"items"`
}

func (s starts) list(ctx context.Context, caller service.Caller, _ *http.Request, _ surfacekit.None) (*StartList, error) {
	found, err := s.engine.ListStarts(ctx, caller, s.kind.isSchedule())
	if err != nil {
		return nil, explain(err)
	}
	out := &StartList{Items: make([]*Start, len(found))}
	for i, one := range found {
		out.Items[i] = viewStart(one)
	}
	return out, nil
}

func (s starts) get(ctx context.Context, caller service.Caller, r *http.Request, _ surfacekit.None) (*Start, error) {
	return viewFound(s.engine.GetStart(ctx, caller, s.kind.isSchedule(), r.PathValue("id")))
}

func viewFound(found *workflow.Start, err error) (*Start, error) {
	if err != nil {
		return nil, explain(err)
	}
	return viewStart(found), nil
}

// check rejects the fields of the other kind.
func (s starts) check(req *StartRequest) error {
	if !s.kind.isSchedule() {
		for field, given := range map[string]bool{"cron": req.Cron != "", "timezone": req.TimeZone != "", "missed": req.Missed != "", "input": req.Input != nil} {
			if given {
				return &service.InvalidError{Field: field, Problem: "only schedules have it: a trigger has match"}
			}
		}
	}
	switch {
	case s.kind.isSchedule() && req.Match != nil:
		return &service.InvalidError{Field: "match", Problem: "a schedule has cron"}
	case !s.kind.isSchedule() && req.Match == nil:
		return &service.InvalidError{Field: "match.type", Problem: "is required"}
	case req.Target.OutputDelivery != nil && req.Target.Agent == nil:
		return &service.InvalidError{Field: "target.outputDelivery", Problem: "requires target.agent"}
	case req.Target.TimeoutSeconds != 0 && len(req.Target.Steps) > 0:
		return &service.InvalidError{Field: "target.timeoutSeconds", Problem: "steps have one each, and the run timeoutSeconds beside target"}
	case (len(req.Target.Steps) > 0) == (req.Target.Agent != nil || req.Target.Tool != nil):
		return &service.InvalidError{Field: "target", Problem: "requires either steps, or an agent or a tool"}
	}
	return nil
}

func (s starts) create(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
	req := new(StartRequest)
	if err := server.ReadJSON(r, req, true); err != nil {
		return err
	}
	if err := s.check(req); err != nil {
		return err
	}
	id := cmp.Or(req.ID, uuid.Must(uuid.NewV7()).String())
	made, err := viewFound(s.engine.Save(r.Context(), caller, id, req.toWorkflow(), req.Paused, true))
	if err != nil {
		return err
	}
	return server.WriteJSON(w, http.StatusCreated, made)
}

func (s starts) replace(ctx context.Context, caller service.Caller, r *http.Request, req StartRequest) (*Start, error) {
	id := r.PathValue("id")
	if req.ID != "" && req.ID != id {
		return nil, &service.InvalidError{Field: "id", Problem: fmt.Sprintf("the path names %q", clip.Text(id))}
	}
	if err := s.check(&req); err != nil {
		return nil, err
	}
	return viewFound(s.engine.Save(ctx, caller, id, req.toWorkflow(), req.Paused, false))
}

func (s starts) remove(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
	if err := s.engine.Delete(r.Context(), caller, s.kind.isSchedule(), r.PathValue("id")); err != nil {
		return explain(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// pause pauses or resumes the start in the path, whose last segment is the verb.
func (s starts) pause(ctx context.Context, caller service.Caller, r *http.Request, _ surfacekit.None) (*Start, error) {
	return viewFound(s.engine.Pause(ctx, caller, s.kind.isSchedule(), r.PathValue("id"), isPause(r)))
}

func isPause(r *http.Request) bool { return strings.HasSuffix(r.Pattern, "/pause") }

// explain converts an error of the engine for the server's response.
func explain(err error) error {
	switch e := err.(type) { //nolint:errorlint // the engine does not wrap its own errors
	case *workflow.NotFoundError:
		return &server.Refusal{Status: http.StatusNotFound, Code: "not_found", Message: e.Error(), Details: server.Details{Kind: e.Kind, ID: e.ID}}
	case *workflow.LimitError:
		return &server.Refusal{Status: http.StatusConflict, Code: "too_many", Message: e.Error()}
	case *workflow.DeclaredError:
		return &server.Refusal{Status: http.StatusConflict, Code: "declared", Message: e.Error(), Details: server.Details{Kind: e.Kind, ID: e.ID}}
	}
	if found := diag.FromError(err); len(found) > 0 {
		return &service.InvalidError{Field: cmp.Or(found[0].Path, "target"), Problem: found[0].Message}
	}
	return err
}
