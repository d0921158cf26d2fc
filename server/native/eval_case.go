package native

import (
	"cmp"
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/evalcase"
)

// EvalCase is a case for evals, made of a turn and its session's earlier turns.
type EvalCase struct {
	ID               string               `json:"id"`
	Cases            string               `json:"cases" jsonschema:"YAML file of cases that contains this case."`
	ToolReplies      []evalcase.ToolReply `json:"tool_replies" jsonschema:"Tool results for the file recordings/ID.tools.jsonl next to the file of cases, one per line."`
	UnknownVariables []string             `json:"unknown_variables,omitempty" jsonschema:"Variables whose values must be added to the case."`
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
	return sendFor[EvalCase](ctx, c, newGet(surfacekit.QueryOf(caseQuery{ID: caseID}), "turns", turnID, "eval-case"), errMissingID("turn", turnID))
}

// caseQuery names the case of the turn in the path.
type caseQuery struct {
	turnID

	ID string `query:"id" jsonschema:"Id of the case. Defaults to turn- followed by the id of the turn."`
}
