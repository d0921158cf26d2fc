package workflows

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workflow"
	flow "github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/google/uuid"
)

// gestaltStart is a schedule or a trigger in the form that Gestalt's clients see.
type gestaltStart struct {
	ID        string             `json:"id"`
	Provider  string             `json:"provider"`
	Cron      string             `json:"cron,omitempty"`
	TimeZone  string             `json:"timezone,omitempty"`
	Match     *flow.GestaltMatch `json:"match,omitempty"`
	Target    flow.GestaltTarget `json:"target"`
	Paused    bool               `json:"paused"`
	NextRunAt time.Time          `json:"nextRunAt,omitzero"`
	CreatedAt time.Time          `json:"createdAt,omitzero"`
	UpdatedAt time.Time          `json:"updatedAt,omitzero"`
}

func viewGestalt(s *workflow.Start, err error) (*gestaltStart, error) {
	if err != nil {
		return nil, explain(err)
	}
	v := &gestaltStart{
		ID: s.ID, Provider: flow.GestaltProvider, Target: s.Workflow.ToGestaltTarget(), Paused: s.Paused,
		NextRunAt: s.NextRunAt, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	if s.Schedule != nil {
		v.Cron, v.TimeZone = s.Schedule.Cron, cmp.Or(s.Schedule.TimeZone, "UTC")
	} else {
		v.Match = &flow.GestaltMatch{Type: s.Event.Type, Source: s.Event.Source, Subject: s.Event.Subject}
	}
	return v, nil
}

// gestaltStarts handles requests for schedules or for event triggers.
type gestaltStarts struct {
	*gestalt
	kind Kind
}

// gestaltRecord is a schedule or a trigger in Gestalt's spelling.
type gestaltRecord interface {
	Workflow(id string) (*flow.Workflow, diag.List)
}

func createGestalt(s gestaltStarts, w http.ResponseWriter, r *http.Request, caller service.Caller, in gestaltRecord) error {
	if err := server.ReadJSON(r, in, true); err != nil {
		return err
	}
	made, err := s.save(r.Context(), caller, uuid.Must(uuid.NewV7()).String(), in, true)
	if err != nil {
		return err
	}
	return server.WriteJSON(w, http.StatusCreated, made)
}

// save creates or replaces a schedule or trigger.
func (s gestaltStarts) save(ctx context.Context, caller service.Caller, id string, in gestaltRecord, isNew bool) (*gestaltStart, error) {
	w, found := in.Workflow(id)
	if found = append(found, w.Validate()...); len(found) > 0 {
		return nil, &service.InvalidError{Field: found[0].Path, Problem: found[0].Message}
	}
	paused := len(w.Schedules) > 0 && w.Schedules[0].Paused || len(w.Events) > 0 && w.Events[0].Paused
	for i := range w.Schedules {
		w.Schedules[i].Paused = false
	}
	for i := range w.Events {
		w.Events[i].Paused = false
	}
	return viewGestalt(s.engine.Save(ctx, caller, id, w, paused, isNew))
}

// errUnfitStart returns the error for a replacement that would lose fields.
func errUnfitStart(kind Kind) error {
	return &server.Refusal{Status: http.StatusConflict, Code: "unfit", Message: "the workflow has fields that this spelling lacks, such as retry or concurrency, and replacing it would remove them: use PUT " + prefix + "/" + string(kind) + "/{id}"}
}

func (s gestaltStarts) replace(ctx context.Context, caller service.Caller, id string, in gestaltRecord) (*gestaltStart, error) {
	known, err := s.engine.GetStart(ctx, caller, s.kind.isSchedule(), id)
	if err != nil {
		return nil, explain(err)
	}
	if !known.Declared && !known.Workflow.FitsGestalt() {
		return nil, errUnfitStart(s.kind)
	}
	return s.save(ctx, caller, id, in, false)
}

func (s gestaltStarts) list(ctx context.Context, caller service.Caller, _ *http.Request, _ surfacekit.None) ([]*gestaltStart, error) {
	found, err := s.engine.ListStarts(ctx, caller, s.kind.isSchedule())
	if err != nil {
		return nil, explain(err)
	}
	list := make([]*gestaltStart, len(found))
	for i, one := range found {
		list[i], _ = viewGestalt(one, nil)
	}
	return list, nil
}

func (s gestaltStarts) get(ctx context.Context, caller service.Caller, r *http.Request, _ surfacekit.None) (*gestaltStart, error) {
	return viewGestalt(s.engine.GetStart(ctx, caller, s.kind.isSchedule(), r.PathValue("id")))
}

// gestaltStatus is the response to a request without any other response.
type gestaltStatus struct {
	Status string `json:"status"`
}

func (s gestaltStarts) remove(ctx context.Context, caller service.Caller, r *http.Request, _ surfacekit.None) (*gestaltStatus, error) {
	if err := s.engine.Delete(ctx, caller, s.kind.isSchedule(), r.PathValue("id")); err != nil {
		return nil, explain(err)
	}
	return &gestaltStatus{"deleted"}, nil
}

func (s gestaltStarts) pause(ctx context.Context, caller service.Caller, r *http.Request, _ surfacekit.None) (*gestaltStart, error) {
	return viewGestalt(s.engine.Pause(ctx, caller, s.kind.isSchedule(), r.PathValue("id"), isPause(r)))
}
