package store

import (
	"context"
	"time"
)

// Feedback is a verdict of a person or a program about a turn that has ended.
type Feedback struct {
	TurnID string
	// Name is the criterion. A turn has one feedback per name.
	Name string
	// AgentID and Owner are copied from the turn.
	AgentID string
	Owner   Owner
	// Score may be nil. Label and Comment are optional.
	Score          *float64
	Label, Comment string
	// Author gave the feedback at UpdatedAt.
	Author    string
	UpdatedAt time.Time
}

// FeedbackQuery selects feedback. Zero fields do not restrict it.
type FeedbackQuery struct {
	Scope   Scope
	TurnID  string
	AgentID string
	Name    string
	// MaxScore excludes higher scores and feedback without a score.
	MaxScore *float64
	// Since excludes older feedback.
	Since time.Time
	Page  Page
}

// FeedbackPage is a page of feedback.
type FeedbackPage struct {
	Feedback []*Feedback
	// Next starts the next page; it is empty on the last one.
	Next string
}

// Feedbacks is the part of a Store that keeps feedback. Feedback is deleted with its session.
type Feedbacks interface {
	// SaveFeedback stores feedback about a turn, replacing earlier feedback of the same name.
	// AgentID and Owner are set from the turn. A turn has at most limit names. The errors are
	// ErrNotFound for the turn, and a *LimitError.
	SaveFeedback(ctx context.Context, scope Scope, f *Feedback, limit int) (*Feedback, error)
	// Feedback returns a page of feedback in reverse order of creation.
	Feedback(ctx context.Context, q FeedbackQuery) (FeedbackPage, error)
}

// CheckText returns ErrText for feedback that every store rejects.
func (f *Feedback) CheckText() error {
	return checkTexts(f.TurnID, f.Name, f.Label, f.Comment, f.Author)
}
