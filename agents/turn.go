package agents

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/model"
)

// Turn is one turn for the code of an agent. It is safe for concurrent use until the code returns;
// then changes fail.
//
// If a turn was interrupted or its worker died, its code runs again from the start. Completed
// Generate calls return their stored results, the incomplete one continues, and stored changes of
// state and artifacts are not repeated. Other effects of the code are.
type Turn[S any] struct{ turn *turn }

// Error returns an error whose text clients may see. They see any other error of an agent's code as
// an internal error without its text.
func Error(status wire.Status, format string, args ...any) error {
	return newError(status, format, args...)
}

// Context names the turn.
func (t *Turn[S]) Context() TurnContext { return t.turn.named }

// Input returns a copy of the turn's input messages, History a copy of the messages before them.
func (t *Turn[S]) Input() []model.Message { return cloneMessages(t.turn.job.Input) }

// History returns the conversation before the input.
func (t *Turn[S]) History() []model.Message { return cloneMessages(t.turn.job.History) }

// ReplaceHistory replaces the conversation before the input, for this turn and later ones. It
// fails if the service keeps the conversation, which is append-only: Prompt.History changes the
// model's view instead.
func (t *Turn[S]) ReplaceHistory(messages ...model.Message) error {
	return t.turn.replaceHistory(messages)
}

// State returns a copy of the custom state.
func (t *Turn[S]) State() (S, error) { return StateOf[S](t.turn.session) }

// Update changes the custom state, and streams the change as a patch. See UpdateState.
func (t *Turn[S]) Update(change func(state *S) error) error {
	return t.turn.changeSession(func() error { return UpdateState(t.turn.session, change) })
}

// SendArtifact stores and streams an artifact. A named artifact replaces the earlier one with that
// name.
func (t *Turn[S]) SendArtifact(artifact wire.Artifact) error {
	return t.turn.changeSession(func() error {
		kept, err := toKeptArtifact(&artifact)
		if err != nil {
			return err
		}
		_, err = t.turn.session.KeepArtifact(kept)
		return err
	})
}

// SendText streams a piece of the answer. The Result must contain the whole text.
func (t *Turn[S]) SendText(text string) error { return t.turn.sendText(text) }

// AddMessages adds messages to the conversation.
func (t *Turn[S]) AddMessages(messages ...model.Message) error {
	if t.turn.definition.clientManaged && slices.ContainsFunc(messages, func(m model.Message) bool { return m.Role == model.RoleSystem }) {
		return errors.New("a conversation that the client keeps has no messages of the system: use Prompt.Instructions")
	}
	return t.turn.addMessages(messages)
}

// Generate calls the declared agent's model and runs its tools until there is an answer. The code
// must return any error that Generate returns, since the turn may be interrupted or continue
// elsewhere.
func (t *Turn[S]) Generate(ctx context.Context, prompt Prompt) (*Result, error) {
	return t.turn.generate(ctx, &prompt)
}

// cloneMessages returns a deep copy of messages.
func cloneMessages(list []model.Message) []model.Message {
	out := make([]model.Message, len(list))
	for i := range list {
		out[i] = list[i]
		out[i].Parts = make([]model.Part, len(list[i].Parts))
		out[i].Metadata = append(json.RawMessage(nil), list[i].Metadata...)
		for j := range list[i].Parts {
			out[i].Parts[j] = clonePart(&list[i].Parts[j])
		}
	}
	return out
}

// clonePart returns a deep copy of a part.
func clonePart(in *model.Part) model.Part {
	out := *in
	if in.Blob != nil {
		blob := *in.Blob
		blob.Data = append([]byte(nil), blob.Data...)
		out.Blob = &blob
	}
	if in.Reasoning != nil {
		out.Reasoning = new(*in.Reasoning)
	}
	if in.ToolCall != nil {
		call := *in.ToolCall
		call.Arguments = append(json.RawMessage(nil), call.Arguments...)
		out.ToolCall = &call
	}
	if in.ToolResult != nil {
		result := *in.ToolResult
		result.Content = make([]model.Part, len(in.ToolResult.Content))
		for i := range result.Content {
			result.Content[i] = clonePart(&in.ToolResult.Content[i])
		}
		out.ToolResult = &result
	}
	return out
}
