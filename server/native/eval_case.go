package native

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/evalcase"
)

// EvalCase is a case for evals, made of a turn and its session's earlier turns.
type EvalCase struct {
	ID string `json:"id"`
	// Cases is a file of cases with this one.
	Cases string `json:"cases"`
	// ToolReplies are the results of the case's tools. They belong into the file
	// recordings/ID.tools.jsonl beside the file of cases, one in a line.
	ToolReplies []evalcase.ToolReply `json:"tool_replies"`
	// UnknownVariables are the variables whose values must be added to the case.
	UnknownVariables []string `json:"unknown_variables,omitempty"`
}

// ReadEvalCase returns a case of an ended turn. An empty caseID means turn- and the turn's id. The
// error is a *service.InvalidError for a turn that cannot become a case.
func (l *Local) ReadEvalCase(ctx context.Context, turnID, caseID string) (*EvalCase, error) {
	d, err := DraftEvalCase(ctx, l, turnID, cmp.Or(caseID, "turn-"+event.ShownID(turnID)))
	if unfit, ok := errors.AsType[*evalcase.Error](err); ok {
		return nil, &service.InvalidError{Field: "turn", Problem: unfit.Reason}
	}
	if err != nil {
		return nil, err
	}
	made := &EvalCase{ID: d.ID, Cases: evalcase.Header + d.YAML(), ToolReplies: d.Replies, UnknownVariables: d.Unknown}
	if made.ToolReplies == nil {
		made.ToolReplies = []evalcase.ToolReply{}
	}
	return made, nil
}

// ReadEvalCase returns a case of an ended turn.
func (c *Client) ReadEvalCase(ctx context.Context, turnID, caseID string) (*EvalCase, error) {
	query := url.Values{}
	setText(query, queryID, caseID)
	return sendFor[EvalCase](ctx, c, newGet(query, "turns", turnID, "eval-case"), errMissingID("turn", turnID))
}

func (c *call) readEvalCase() error {
	q := queryOf(c.r, queryID)
	if q.err != nil {
		return q.err
	}
	made, err := c.ReadEvalCase(c.r.Context(), c.r.PathValue("turn"), q.readText(queryID))
	return c.writeReply(http.StatusOK, made, err)
}
