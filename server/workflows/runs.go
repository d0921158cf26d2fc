package workflows

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workflow"
)

// RunList is a page of runs, newest first.
type RunList struct {
	Items []*RunView `json:"items"`
	// Next is the value of after for the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}

func (s *surface) listRuns(ctx context.Context, caller service.Caller, r *http.Request, _ surfacekit.None) (*RunList, error) {
	q := r.URL.Query()
	query := workflow.RunQuery{WorkflowID: q.Get("workflow"), Status: q.Get("status"), After: q.Get("after")}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, &service.InvalidError{Field: "limit", Problem: "must be 1 or more"}
		}
		query.Limit = n
	}
	found, next, err := s.engine.ListRuns(ctx, caller, query)
	if err != nil {
		return nil, explain(err)
	}
	out := &RunList{Items: make([]*RunView, len(found)), Next: next}
	for i, one := range found {
		out.Items[i] = viewRun(one)
	}
	return out, nil
}

func (s *surface) getRun(ctx context.Context, caller service.Caller, r *http.Request, _ surfacekit.None) (*RunView, error) {
	return viewFoundRun(s.engine.GetRun(ctx, caller, r.PathValue("id")))
}

func viewFoundRun(found *workflow.Run, err error) (*RunView, error) {
	if err != nil {
		return nil, explain(err)
	}
	return viewRun(found), nil
}

// cancelRequest cancels a run.
type cancelRequest struct {
	Reason string `json:"reason,omitempty"`
}

func (s *surface) cancelRun(ctx context.Context, caller service.Caller, r *http.Request, in cancelRequest) (*RunView, error) {
	return viewFoundRun(s.engine.Cancel(ctx, caller, r.PathValue("id"), in.Reason))
}

// awaitedList is all that a run waits for.
type awaitedList struct {
	Items []interaction.Request `json:"items"`
}

func (s *surface) listInteractions(ctx context.Context, caller service.Caller, r *http.Request, _ surfacekit.None) (*awaitedList, error) {
	found, err := s.engine.Interactions(ctx, caller, r.PathValue("id"))
	if err != nil {
		return nil, explain(err)
	}
	out := &awaitedList{Items: []interaction.Request{}}
	for _, i := range found {
		out.Items = append(out.Items, i.Request)
	}
	return out, nil
}

// AnswerRequest is the answer to an interaction of a run.
type AnswerRequest struct {
	// Result is the answer, in the form of responseSchema.
	Result json.RawMessage `json:"result,omitempty"`
	// Refused cancels the waiting call, with Reason.
	Refused bool   `json:"refused,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// AnswerOf returns the request for an answer.
func AnswerOf(a interaction.Answer) AnswerRequest {
	return AnswerRequest{Result: a.Result, Refused: a.Action == interaction.Cancel, Reason: a.Reason}
}

func (s *surface) answerInteraction(ctx context.Context, caller service.Caller, r *http.Request, in AnswerRequest) (*RunView, error) {
	answer := interaction.Answer{Target: r.PathValue("interaction"), Action: interaction.Resume, Result: in.Result, Reason: in.Reason}
	switch {
	case in.Refused:
		answer.Action = interaction.Cancel
	case in.Reason != "":
		return nil, &service.InvalidError{Field: "reason", Problem: "only an answer with refused has it"}
	}
	if _, err := s.engine.Answer(ctx, caller, r.PathValue("id"), answer); err != nil {
		return nil, explain(err)
	}
	return s.getRun(ctx, caller, r, surfacekit.None{})
}
