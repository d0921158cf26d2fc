package native

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// Feedback is a verdict about an ended turn.
type Feedback struct {
	TurnID  string `json:"turn_id"`
	AgentID string `json:"agent_id"`
	Name    string `json:"name" jsonschema:"Name of the criterion."`
	// Score is nil if absent.
	Score     *float64  `json:"score,omitempty" minimum:"0" maximum:"1"`
	Label     string    `json:"label,omitempty"`
	Comment   string    `json:"comment,omitempty"`
	Author    string    `json:"author" jsonschema:"Tenant and subject of the author."`
	UpdatedAt time.Time `json:"updated_at"`
}

// SaveFeedback gives feedback. At least one of Score, Label and Comment is required.
type SaveFeedback struct {
	// Name is the criterion; empty means service.DefaultFeedback.
	Name    string   `json:"name,omitempty" maxLength:"128" default:"user_feedback" jsonschema:"Name of the criterion."`
	Score   *float64 `json:"score,omitempty" minimum:"0" maximum:"1" jsonschema:"Higher is better."`
	Label   string   `json:"label,omitempty" maxLength:"256"`
	Comment string   `json:"comment,omitempty" maxLength:"8192"`
}

// FeedbackQuery selects feedback. Zero fields do not restrict it.
type FeedbackQuery struct {
	AgentID  string    `query:"agent_id"`
	Name     string    `query:"name" jsonschema:"Name of the criterion."`
	MaxScore *float64  `query:"max_score" jsonschema:"Excludes higher scores and feedback without a score."`
	Since    time.Time `query:"since" jsonschema:"Excludes older feedback."`
	Page     service.Page
}

// FeedbackList is a page of feedback, newest first.
type FeedbackList struct {
	Feedback []Feedback `json:"feedback"`
	// Next is empty on the last page.
	Next string `json:"next,omitempty" jsonschema:"Value of after for the next page."`
}

// feedbackOf converts feedback to the protocol's form.
func feedbackOf(f *service.Feedback) Feedback {
	return Feedback{
		TurnID: f.TurnID, AgentID: f.AgentID, Name: f.Name, Score: f.Score, Label: f.Label, Comment: f.Comment, Author: f.Author, UpdatedAt: f.UpdatedAt,
	}
}

// SaveFeedback stores feedback about an ended turn and replaces earlier feedback of the same name.
// It returns the errors of service.SaveFeedback.
func (l *Local) SaveFeedback(ctx context.Context, turnID string, req SaveFeedback) (*Feedback, error) {
	saved, err := l.Service.SaveFeedback(ctx, l.Caller, service.SaveFeedback{TurnID: turnID, Name: req.Name, Score: req.Score, Label: req.Label, Comment: req.Comment})
	if err != nil {
		return nil, err
	}
	shown := feedbackOf(saved)
	return &shown, nil
}

// ListFeedback returns a page of feedback.
func (l *Local) ListFeedback(ctx context.Context, q FeedbackQuery) (*FeedbackList, error) {
	return l.listFeedback(ctx, service.FeedbackQuery{AgentID: q.AgentID, Name: q.Name, MaxScore: q.MaxScore, Since: q.Since, Page: q.Page})
}

func (l *Local) listFeedback(ctx context.Context, q service.FeedbackQuery) (*FeedbackList, error) {
	page, err := l.Service.ListFeedback(ctx, l.Caller, q)
	if err != nil {
		return nil, err
	}
	list := &FeedbackList{Feedback: make([]Feedback, 0, len(page.Feedback)), Next: page.Next}
	for _, f := range page.Feedback {
		list.Feedback = append(list.Feedback, feedbackOf(f))
	}
	return list, nil
}

// SaveFeedback stores feedback about an ended turn and replaces earlier feedback of the same name.
func (c *Client) SaveFeedback(ctx context.Context, turnID string, req SaveFeedback) (*Feedback, error) {
	return sendFor[Feedback](ctx, c, newPost("", req, "turns", turnID, "feedback"), errMissingID("turn", turnID))
}

// ListFeedback returns a page of feedback.
func (c *Client) ListFeedback(ctx context.Context, q FeedbackQuery) (*FeedbackList, error) {
	return sendFor[FeedbackList](ctx, c, newGet(surfacekit.QueryOf(q), "feedback"))
}

// ratedTurn is feedback for the turn in the path.
type ratedTurn struct {
	turnID
	SaveFeedback
}

// ratedTurnID is the turn in the path of a request without a query.
type ratedTurnID struct {
	turnID

	_ struct{} `query:""`
}

// listTurnFeedback returns all feedback about a turn.
func (l *Local) listTurnFeedback(ctx context.Context, in ratedTurnID) (*FeedbackList, error) {
	t, err := l.findTurn(ctx, in.Turn)
	if err != nil {
		return nil, err
	}
	return l.listFeedback(ctx, service.FeedbackQuery{TurnID: t.ID})
}
