package service

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/store"
)

// Interaction is something outside that a turn waits for.
type Interaction struct {
	store.Interaction
	// Request is the question or approval.
	Request interaction.Request
}

func interactionFrom(i *store.Interaction) (*Interaction, error) {
	v := &Interaction{Interaction: *i}
	if err := json.Unmarshal(i.Request, &v.Request); err != nil {
		return nil, fmt.Errorf("decode interaction %s of turn %s: %w", i.ID, i.TurnID, err)
	}
	return v, nil
}
