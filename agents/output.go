package agents

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
)

// toOutput returns the output of a turn that has ended or is interrupted.
func (a *stored) toOutput(ctx context.Context, turn *service.Turn, sessionID string) (*wire.Output, error) {
	out := &wire.Output{SessionID: sessionID, SnapshotID: turn.ID, FinishReason: finishReason(turn), Error: outcomeError(turn)}
	var err error
	switch turn.Status {
	case service.Waiting:
		out.Message, err = a.questionOf(ctx, turn)
	case service.Succeeded:
		if out.Message, err = a.answerOf(ctx, turn); err != nil {
			return nil, err
		}
		head, err := a.service.GetSnapshotHead(ctx, a.caller, turn.SnapshotID)
		if err != nil {
			return nil, nameError(err, "snapshot", turn.ID)
		}
		if head.State != nil {
			out.Artifacts, err = a.readArtifacts(ctx, head.State.Artifacts)
		}
		return out, err
	default:
		out.SnapshotID, err = a.turnOfSnapshot(ctx, turn.ParentSnapshotID)
	}
	return out, err
}

// questionOf returns the open tool requests of an interrupted turn, in the model's order.
func (a *stored) questionOf(ctx context.Context, turn *service.Turn) (*wire.Message, error) {
	open, err := a.openInteractions(ctx, turn.ID)
	if err != nil {
		return nil, err
	}
	if len(open) > 1 {
		own, err := a.service.TurnMessages(ctx, a.caller, turn.ID)
		if err != nil {
			return nil, nameError(err, "snapshot", turn.ID)
		}
		places := make(map[string]int)
		for i := range own {
			for j := range own[i].Parts {
				if call := own[i].Parts[j].ToolCall; call != nil {
					places[call.ID] = len(places)
				}
			}
		}
		slices.SortStableFunc(open, func(x, y *service.Interaction) int {
			return cmp.Compare(places[x.Request.CallID], places[y.Request.CallID])
		})
	}
	message := &wire.Message{Role: wire.RoleModel}
	for _, asked := range open {
		message.Content = append(message.Content, interruptPart(&asked.Request))
	}
	return message, nil
}

// answerOf returns a turn's answer: its text, or the message without text.
func (a *stored) answerOf(ctx context.Context, turn *service.Turn) (*wire.Message, error) {
	if turn.Outcome != nil && turn.Outcome.Response != "" {
		return &wire.Message{Role: wire.RoleModel, Content: []wire.Part{wire.NewTextPart(turn.Outcome.Response)}}, nil
	}
	own, err := a.service.TurnMessages(ctx, a.caller, turn.ID)
	if err != nil {
		return nil, nameError(err, "snapshot", turn.ID)
	}
	return lastAnswer(own), nil
}

// lastAnswer returns the last message of the model; or an empty one.
func lastAnswer(list []model.Message) *wire.Message {
	for i := range slices.Backward(list) {
		if list[i].Role == model.RoleAssistant {
			return &fromModelMessages(list[i : i+1])[0]
		}
	}
	return &wire.Message{Role: wire.RoleModel}
}
