package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/store"
)

const (
	// maxFeedback is the maximum number of feedback names of a turn.
	maxFeedback = 16
	// DefaultFeedback is the name of unnamed feedback.
	DefaultFeedback = "user_feedback"
	// maxFeedbackName and maxFeedbackLabel bound names and labels, and maxFeedbackComment
	// comments, in bytes.
	maxFeedbackName, maxFeedbackLabel, maxFeedbackComment = 128, 256, 8 << 10
)

// SaveFeedback is a verdict about a turn. At least one of Score, Label and Comment is required.
type SaveFeedback struct {
	TurnID string
	// Name is the criterion; empty means DefaultFeedback.
	Name string
	// Score is from 0 to 1; higher is better.
	Score          *float64
	Label, Comment string
}

// SaveFeedback stores feedback about a turn that has ended and exports it as an evaluation
// (gen_ai.evaluation.result). It replaces earlier feedback of the same name. The errors are an
// *InvalidError, a *NotFoundError for the turn, a *StateError for a live turn, and a *LimitError.
func (s *Turns) SaveFeedback(ctx context.Context, caller Caller, req SaveFeedback) (*store.Feedback, error) {
	scope, err := caller.toScope()
	if err != nil {
		return nil, err
	}
	if req.Name == "" {
		req.Name = DefaultFeedback
	}
	if err := checkFeedback(&req); err != nil {
		return nil, err
	}
	turn, err := s.readTurn(ctx, caller, req.TurnID)
	if err != nil {
		return nil, err
	}
	if turn.Status.Live() {
		return nil, &StateError{Kind: "turn", ID: turn.ID, State: string(turn.Status), Want: "rated before it ends"}
	}
	saved, err := s.settings.Store.SaveFeedback(ctx, scope, &store.Feedback{
		TurnID: turn.ID, Name: req.Name, Score: req.Score, Label: req.Label, Comment: req.Comment, Author: caller.Tenant + "/" + caller.Subject, UpdatedAt: s.now(),
	}, maxFeedback)
	if err != nil {
		return nil, nameNotFound(err, "turn", req.TurnID)
	}
	s.settings.Runtime.Telemetry().RecordEvaluation(ctx, telemetry.Evaluation{
		TurnID: turn.ID, SessionID: turn.SessionID, AgentID: turn.AgentID, Name: saved.Name, Score: saved.Score, Label: saved.Label, Explanation: saved.Comment,
	})
	return saved, nil
}

func checkFeedback(req *SaveFeedback) error {
	switch {
	case len(req.Name) > maxFeedbackName || strings.ContainsFunc(req.Name, unicode.IsControl):
		return &InvalidError{"name", fmt.Sprintf("must be one line of at most %d bytes", maxFeedbackName)}
	case len(req.Label) > maxFeedbackLabel || strings.ContainsFunc(req.Label, unicode.IsControl):
		return &InvalidError{"label", fmt.Sprintf("must be one line of at most %d bytes", maxFeedbackLabel)}
	case len(req.Comment) > maxFeedbackComment:
		return &InvalidError{"comment", fmt.Sprintf("must be at most %d bytes", maxFeedbackComment)}
	case req.Score != nil && !(*req.Score >= 0 && *req.Score <= 1): // NaN is neither
		return &InvalidError{"score", "must be 0 to 1"}
	case req.Score == nil && req.Label == "" && req.Comment == "":
		return &InvalidError{"score", "is required, or a label or a comment"}
	}
	return nil
}

// ListFeedback returns a page of feedback about the caller's turns, newest first. A page may be
// short if the caller may use only some agents. The scope of the query is set from the caller.
func (s *Turns) ListFeedback(ctx context.Context, caller Caller, q store.FeedbackQuery) (page store.FeedbackPage, err error) {
	if q.Scope, err = caller.toScope(); err != nil {
		return page, err
	}
	page, err = s.settings.Store.Feedback(ctx, q)
	page.Feedback = slices.DeleteFunc(page.Feedback, func(f *store.Feedback) bool { return !caller.seesTurnsOf(f.AgentID) })
	return page, err
}
