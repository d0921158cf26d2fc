package native

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/service"
)

// Query parameters of a list of feedback.
const (
	queryName     = "name"
	queryMaxScore = "max_score"
	querySince    = "since"
)

// Feedback is a verdict about an ended turn.
type Feedback struct {
	TurnID  string `json:"turn_id"`
	AgentID string `json:"agent_id"`
	// Name is the criterion.
	Name string `json:"name"`
	// Score is nil if absent.
	Score     *float64  `json:"score,omitempty"`
	Label     string    `json:"label,omitempty"`
	Comment   string    `json:"comment,omitempty"`
	Author    string    `json:"author"`
	UpdatedAt time.Time `json:"updated_at"`
}

// SaveFeedback gives feedback. At least one of Score, Label and Comment is required.
type SaveFeedback struct {
	// Name is the criterion; empty means service.DefaultFeedback.
	Name string `json:"name,omitempty"`
	// Score is from 0 to 1; higher is better.
	Score   *float64 `json:"score,omitempty"`
	Label   string   `json:"label,omitempty"`
	Comment string   `json:"comment,omitempty"`
}

// FeedbackQuery selects feedback. Zero fields do not restrict it.
type FeedbackQuery struct {
	AgentID, Name string
	// MaxScore excludes higher scores and feedback without a score; Since excludes older
	// feedback.
	MaxScore *float64
	Since    time.Time
	Page     service.Page
}

// FeedbackList is a page of feedback, newest first.
type FeedbackList struct {
	Feedback []Feedback `json:"feedback"`
	// Next starts the next page; it is empty on the last one.
	Next string `json:"next,omitempty"`
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
	if err := errMissingID("turn", turnID); err != nil {
		return nil, err
	}
	r, err := newPost("", req, "turns", turnID, "feedback")
	return sendFor[Feedback](ctx, c, r, err)
}

// ListFeedback returns a page of feedback.
func (c *Client) ListFeedback(ctx context.Context, q FeedbackQuery) (*FeedbackList, error) {
	return sendFor[FeedbackList](ctx, c, newGet(q.toValues(), "feedback"), nil)
}

// toValues encodes the query for feedbackQuery.
func (q *FeedbackQuery) toValues() url.Values {
	v := pageValues(q.Page)
	setText(v, queryAgent, q.AgentID)
	setText(v, queryName, q.Name)
	if q.MaxScore != nil {
		v.Set(queryMaxScore, strconv.FormatFloat(*q.MaxScore, 'g', -1, 64))
	}
	if !q.Since.IsZero() {
		v.Set(querySince, q.Since.UTC().Format(time.RFC3339Nano))
	}
	return v
}

// feedbackQuery reads the query of a list of feedback.
func feedbackQuery(r *http.Request) (FeedbackQuery, error) {
	q := queryOf(r, queryAgent, queryName, queryMaxScore, querySince, queryAfter, queryLimit)
	list := FeedbackQuery{AgentID: q.readText(queryAgent), Name: q.readText(queryName), Page: q.readPage()}
	if q.readText(queryMaxScore) != "" {
		list.MaxScore = new(q.readDecimal(queryMaxScore))
	}
	list.Since = q.readTime(querySince)
	return list, q.err
}

func (c *call) saveFeedback() error {
	var req SaveFeedback
	if err := c.readBody(&req); err != nil {
		return err
	}
	saved, err := c.SaveFeedback(c.r.Context(), c.r.PathValue("turn"), req)
	return c.writeReply(http.StatusOK, saved, err)
}

// listTurnFeedback responds with all feedback about a turn.
func (c *call) listTurnFeedback() error {
	if q := queryOf(c.r); q.err != nil {
		return q.err
	}
	t, err := c.findTurn(c.r.Context(), c.r.PathValue("turn"))
	if err != nil {
		return err
	}
	list, err := c.Local.listFeedback(c.r.Context(), service.FeedbackQuery{TurnID: t.ID})
	return c.writeReply(http.StatusOK, list, err)
}

func (c *call) listFeedback() error {
	q, err := feedbackQuery(c.r)
	if err != nil {
		return err
	}
	list, err := c.ListFeedback(c.r.Context(), q)
	return c.writeReply(http.StatusOK, list, err)
}
