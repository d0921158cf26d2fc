package workflows

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workflow"
	flow "github.com/agentruntime/agentruntime/spec/workflow"
)

// gestaltRun is a run in the form that Gestalt's clients see.
type gestaltRun struct {
	ID            string             `json:"id"`
	Provider      string             `json:"provider"`
	Status        string             `json:"status"`
	Target        flow.GestaltTarget `json:"target"`
	Trigger       Trigger            `json:"trigger"`
	CreatedBy     gestaltActor       `json:"createdBy"`
	CreatedAt     time.Time          `json:"createdAt"`
	StartedAt     time.Time          `json:"startedAt,omitzero"`
	CompletedAt   time.Time          `json:"completedAt,omitzero"`
	StatusMessage string             `json:"statusMessage,omitempty"`
	// ResultBody is the output of the last step: its text, or JSON.
	ResultBody  string          `json:"resultBody,omitempty"`
	Steps       []StepView      `json:"steps"`
	FinalStepID string          `json:"finalStepId,omitempty"`
	FinalOutput json.RawMessage `json:"finalOutput,omitempty"`
}

// gestaltActor is the owner of a run.
type gestaltActor struct {
	SubjectID   string `json:"subjectId"`
	SubjectKind string `json:"subjectKind"`
}

func viewGestaltRun(r *workflow.Run, err error) (*gestaltRun, error) {
	if err != nil {
		return nil, explain(err)
	}
	w := new(flow.Workflow)
	if err := json.Unmarshal(r.Definition, w); err != nil {
		return nil, err
	}
	own := viewRun(r)
	v := &gestaltRun{
		ID: own.ID, Provider: flow.GestaltProvider, Status: own.Status, Target: w.ToGestaltTarget(), Trigger: own.Trigger,
		CreatedBy: gestaltActor{own.CreatedBy, "user"}, CreatedAt: own.CreatedAt, StartedAt: own.StartedAt, CompletedAt: own.CompletedAt,
		StatusMessage: own.StatusMessage, ResultBody: string(own.FinalOutput), Steps: own.Steps, FinalStepID: own.FinalStepID, FinalOutput: own.FinalOutput,
	}
	if v.Status == "waiting" {
		v.Status = "running" // the protocol has no other status for it
	}
	if v.Trigger.Kind == string(workflow.ByWebhook) {
		v.Trigger.Kind = string(workflow.ByEvent)
	}
	var text map[string]string
	if json.Unmarshal(own.FinalOutput, &text) == nil && len(text) == 1 && text["text"] != "" {
		v.ResultBody = text["text"]
	}
	return v, nil
}

// nextHeader has the value of after for the next page of runs.
const nextHeader = "X-Next-After"

func (g *gestalt) listRuns(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
	q := r.URL.Query()
	found, next, err := g.engine.ListRuns(r.Context(), caller, workflow.RunQuery{Status: q.Get("status"), After: q.Get("after"), Whole: true})
	if err != nil {
		return explain(err)
	}
	list := []*gestaltRun{}
	for _, one := range found {
		v, err := viewGestaltRun(one, nil)
		if err != nil {
			return err
		}
		if plugin := q.Get("plugin"); plugin == "" || v.Target.Plugin != nil && v.Target.Plugin.Name == plugin {
			list = append(list, v)
		}
	}
	if next != "" {
		w.Header().Set(nextHeader, next)
	}
	return server.WriteJSON(w, http.StatusOK, list)
}

func (g *gestalt) getRun(ctx context.Context, caller service.Caller, r *http.Request, _ surfacekit.None) (*gestaltRun, error) {
	return viewGestaltRun(g.engine.GetRun(ctx, caller, r.PathValue("id")))
}

func (g *gestalt) cancelRun(ctx context.Context, caller service.Caller, r *http.Request, in cancelRequest) (*gestaltRun, error) {
	return viewGestaltRun(g.engine.Cancel(ctx, caller, r.PathValue("id"), in.Reason))
}
