package openai

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// functionOutput is what a function of the client returned, or whether a call is approved.
type functionOutput struct {
	callID, output string
	// approve is set for the answer to a request for approval.
	approve *bool
	reason  string
}

// resume gives a turn what it waits for, and returns the segment after that; nil if the
// outputs are for no turn of the caller. The same outputs give the same segment again.
func (c *call) resume(prefix, agent string, outputs []functionOutput, said []model.Part) (*answer, error) {
	core, _ := splitItemID(outputs[len(outputs)-1].callID)
	outputs = slices.DeleteFunc(slices.Clone(outputs), func(o functionOutput) bool { // those of earlier turns
		other, _ := splitItemID(o.callID)
		return other != core
	})
	turn, record, err := c.findTurn(prefix + core)
	if errors.Is(err, service.ErrNotFound) || err == nil && agent != "" && turn.AgentID != agent {
		return nil, nil //nolint:nilnil // they are for none
	}
	if err != nil {
		return nil, err
	}
	f, err := c.foldSoFar(turn, record, 0)
	if err != nil {
		return nil, err
	}
	return c.answerQuestions(turn, f, outputs, said)
}

// findTurn returns a turn of the surface. The error is service.ErrNotFound for those of
// other protocols and callers.
func (c *call) findTurn(id string) (*service.Turn, turnRecord, error) {
	var record turnRecord
	turn, err := c.settings.Service.GetTurn(c.r.Context(), c.caller, id)
	if err == nil && !own.Decode(turn.Metadata, &record) {
		err = &service.NotFoundError{Kind: "turn", ID: id}
	}
	return turn, record, err
}

// foldSoFar returns the segments of a turn as far as its log goes now.
func (c *call) foldSoFar(turn *service.Turn, record turnRecord, want int) (*fold, error) {
	f := newFold(turn.ID, turn.AgentID, record, want)
	for after := uint64(0); ; {
		records, err := c.settings.Service.ReadEvents(c.r.Context(), c.caller, turn.ID, after, service.MaxPage)
		if err != nil || len(records) == 0 {
			return f, err
		}
		for i := range records {
			if err := f.apply(&records[i]); err != nil {
				return nil, err
			}
		}
		after = records[len(records)-1].Seq
	}
}

// answerQuestions answers all that a segment of a turn ended with: the one of the last
// output, or without any the wanted one of the fold.
func (c *call) answerQuestions(turn *service.Turn, f *fold, outputs []functionOutput, said []model.Part) (*answer, error) {
	segment := f.want
	given := make(map[*question]*functionOutput, len(outputs))
	for i := len(outputs) - 1; i >= 0; i-- {
		q := f.questionOf(outputs[i].callID)
		switch {
		case q == nil:
			return nil, badField("", "No tool call found for output with call_id '%s'.", clip.Text(outputs[i].callID))
		case i == len(outputs)-1:
			segment = q.segment
		case q.segment != segment:
			continue // it was answered before
		case given[q] != nil:
			return nil, badField("", "There are two outputs for the call '%s'.", clip.Text(outputs[i].callID))
		}
		given[q] = &outputs[i]
	}
	var answers []interaction.Answer
	for _, q := range f.ended[segment].questions {
		output := given[q]
		if output == nil && q.item.kind == itemMessage {
			output, said = &functionOutput{output: model.PartsText(said)}, nil
		}
		if output == nil && q.answered {
			continue // by somebody else
		}
		if output == nil {
			return nil, badField("", "No tool output found for function call %s.", q.item.publicID())
		}
		answered, err := output.toAnswer(c.r.Context(), q)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answered)
	}
	if len(answers) == 0 {
		return nil, badField("previous_response_id", "The calls of this response have been answered: continue from the response that followed.")
	}
	if len(said) > 0 {
		message, err := json.Marshal(model.Message{Role: model.RoleUser, Parts: said})
		if err != nil {
			return nil, err
		}
		answers[len(answers)-1].Message = message
	}
	for _, a := range answers {
		if _, err := c.settings.Service.AnswerInteraction(c.r.Context(), c.caller, turn.ID, a); err != nil {
			return nil, err
		}
	}
	again, record, err := c.findTurn(turn.ID)
	if err != nil {
		return nil, err
	}
	return c.newAnswer(again, record, segment+1), nil
}

// publicID returns the id by which a client answers the item.
func (i *item) publicID() string {
	if i.callID != "" {
		return i.callID
	}
	return i.id
}

// questionOf returns the question that a client answers by an id; nil without one.
func (f *fold) questionOf(id string) *question {
	for _, q := range f.questions {
		if q.item != nil && q.item.publicID() == id {
			return q
		}
	}
	return nil
}

// toAnswer returns the answer to a question.
func (o *functionOutput) toAnswer(ctx context.Context, q *question) (interaction.Answer, error) {
	a := interaction.Answer{Target: q.ID, Action: interaction.Resume}
	var err error
	switch {
	case q.item.kind == itemFunction:
		a.Result, err = json.Marshal(clienttool.Answer{Result: &o.output})
	case q.item.kind == itemApproval && o.approve == nil:
		err = badField("", "The request for approval %s needs an mcp_approval_response.", q.item.id)
	case q.item.kind == itemApproval && !*o.approve:
		a.Action, a.Reason = interaction.Cancel, o.reason
	case q.item.kind == itemApproval:
		a.Result, err = interaction.ReadAnswer(ctx, &q.Request, "yes")
	default:
		a.Result, err = interaction.ReadAnswer(ctx, &q.Request, o.output)
	}
	return a, err
}
