package evals

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service/evalcase"
	"github.com/agentruntime/agentruntime/spec"
)

// defaultUserTurns is the default maximum of turns that a simulated user begins.
const defaultUserTurns = 5

// userDone is written by a simulated user to end the conversation.
const userDone = "DONE"

// userInstructions are the system prompt of a model that plays the user.
const userInstructions = `You play the user of an assistant in a test. Write the user's next message, and nothing
else. Stay in your role; never answer as the assistant.

What you want: %s
Who you are: %s

Write %s, and nothing else, once you have what you want or the assistant cannot help.`

// askUser lets a model write the user's next message; it returns nil at the end of the
// conversation.
func (r *run) askUser(ctx context.Context, u *SimulatedUser) (*Turn, error) {
	persona := u.Persona
	if persona == "" {
		persona = "an ordinary person who writes short messages"
	}
	user := &spec.Agent{
		ID: "eval_user", ModelID: u.ModelID, Description: "Plays the user.", AllowedTools: spec.Names{},
		SystemPrompt: spec.Prompt(fmt.Sprintf(userInstructions, u.Goal, persona, userDone)),
	}
	req := runtime.Prompt(user.ID, "Begin the conversation.")
	for _, t := range r.result.Turns {
		req.History = append(req.History, req.Input...)
		req.History = append(req.History, model.Assistant(t.Prompt))
		req.Input = []model.Message{model.User(t.Response)}
	}
	req.Ephemeral = &resolve.Ephemeral{Agent: user}
	result, err := r.runtime.Run(ctx, req, nil)
	if err != nil {
		return nil, fmt.Errorf("the simulated user wrote nothing: %w", causeOf(err))
	}
	r.addUsage(result)
	text := strings.TrimSpace(result.Response)
	switch {
	case result.Status != event.StatusSucceeded || text == "":
		return nil, fmt.Errorf("the simulated user wrote nothing: %s", evalcase.DescribeTermination(result.Termination))
	case strings.TrimRight(text, ".!") != userDone:
		return &Turn{Prompt: text}, nil
	case len(r.result.Turns) == 0:
		return nil, errors.New("the simulated user ended the conversation before its first turn")
	}
	return nil, nil //nolint:nilnil // the conversation has ended
}
