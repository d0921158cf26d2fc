package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// interactionView is the wire form of an interaction.
type interactionView struct {
	ID         string                   `json:"id"`
	TurnID     string                   `json:"turnId"`
	Type       string                   `json:"type" enum:"approval,clarification,input"`
	State      service.InteractionState `json:"state" enum:"pending,resolved,canceled"`
	Title      string                   `json:"title,omitempty"`
	Prompt     string                   `json:"prompt,omitempty"`
	Request    surfacekit.AskedRequest  `json:"request"`
	Resolution json.RawMessage          `json:"resolution,omitempty"`
	CreatedAt  time.Time                `json:"createdAt"`
	ResolvedAt time.Time                `json:"resolvedAt,omitzero"`
	_          struct{}                 `additionalProperties:"false"`
}

// viewInteraction shows an interaction.
func viewInteraction(i *service.Interaction) interactionView {
	asked := surfacekit.ShowRequest(&i.Request)
	return interactionView{
		ID: i.ID, TurnID: i.TurnID, Type: asked.Type, State: i.State, Title: asked.Title, Prompt: i.Request.Prompt(), Request: asked.Request,
		Resolution: resolutionOf(i), CreatedAt: i.CreatedAt, ResolvedAt: i.AnsweredAt,
	}
}

// refusal is the resolution of an interaction that was refused, and its form in requests.
type refusal struct {
	Canceled bool   `json:"canceled"`
	Reason   string `json:"reason,omitempty"`
}

// resolutionOf returns the answer of an interaction as an object; nil if absent. Other values
// become the object's response field, as clients send them.
func resolutionOf(i *service.Interaction) json.RawMessage {
	var answer interaction.Answer
	if i.State != service.InteractionAnswered || json.Unmarshal(i.Answer, &answer) != nil {
		return nil
	}
	if answer.Action == interaction.Resume {
		if bytes.HasPrefix(bytes.TrimSpace(answer.Result), []byte("{")) || len(answer.Result) == 0 {
			return answer.Result
		}
		response, _ := json.Marshal(map[string]json.RawMessage{"response": answer.Result}) // it was decoded
		return response
	}
	refused, _ := json.Marshal(refusal{true, answer.Reason}) // words
	return refused
}

// listInteractions responds with the pending and past interactions of a turn, oldest first.
func (c *call) listInteractions() (any, error) {
	t, err := c.getTurn()
	if err != nil {
		return nil, err
	}
	found, err := c.askInteractions(t.ID)
	if err != nil {
		return nil, err
	}
	list := make([]interactionView, len(found))
	for n, i := range found {
		list[n] = viewInteraction(i)
	}
	return list, nil
}

// askInteractions returns the pending and past interactions of a turn, oldest first.
func (c *call) askInteractions(turnID string) ([]*service.Interaction, error) {
	return askProvider(c, "list_interactions", func(ctx context.Context) ([]*service.Interaction, error) {
		found, err := c.settings.Service.ListInteractions(ctx, c.caller, service.InteractionQuery{TurnID: turnID})
		return found, nameError(err, "turn", turnID)
	})
}

// resolveInteraction answers an interaction. Repeating the same answer changes nothing.
func (c *call) resolveInteraction() (any, error) {
	var in resolutionRequest
	if err := c.readBody(&in); err != nil {
		return nil, err
	}
	if in.Resolution == nil {
		return nil, badRequest("resolution must be an object")
	}
	t, err := c.getTurn()
	if err != nil {
		return nil, err
	}
	asked, err := c.findInteraction(t.ID, c.r.PathValue("interaction"))
	if err != nil {
		return nil, err
	}
	answer, err := answerOf(c.r.Context(), &asked.Request, in.Resolution)
	if err != nil {
		return nil, err
	}
	answered, err := askProvider(c, "resolve_interaction", func(ctx context.Context) (*service.Interaction, error) {
		answered, err := c.settings.Service.AnswerInteraction(ctx, c.caller, t.ID, answer)
		if err != nil {
			return nil, answerError(err)
		}
		return answered, nil
	})
	if err != nil {
		return nil, err
	}
	return viewInteraction(answered), nil
}

// findInteraction returns an interaction of a turn.
func (c *call) findInteraction(turnID, id string) (*service.Interaction, error) {
	found, err := c.askInteractions(turnID)
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		if i.ID == id {
			return i, nil
		}
	}
	return nil, errNoInteraction
}

// valueNames are the fields of a resolution that may carry a non-object answer.
var valueNames = []string{"answer", "value", "text", "response"}

// answerOf returns the answer in a resolution. If the request does not expect an object, the answer
// is the only value of the resolution.
func answerOf(ctx context.Context, request *interaction.Request, resolution map[string]json.RawMessage) (interaction.Answer, error) {
	answer := interaction.Answer{Target: request.ID, Action: interaction.Resume}
	whole, err := json.Marshal(resolution)
	if err != nil {
		return answer, err
	}
	var refused refusal
	if json.Unmarshal(whole, &refused) == nil && refused.Canceled {
		answer.Action, answer.Reason = interaction.Cancel, refused.Reason
		return answer, nil
	}
	for name, value := range resolution {
		if len(resolution) == 1 && slices.Contains(valueNames, name) {
			return surfacekit.AnswerObject(ctx, request, whole, value), nil
		}
	}
	return surfacekit.AnswerObject(ctx, request, whole), nil
}
