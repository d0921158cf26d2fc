package a2a

import (
	"encoding/json"
	"errors"

	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/service"
)

var errPushSealed = errors.New("the push configuration cannot be read: it was made with another encryption key")

// sealTarget returns a target as it is kept with a webhook.
func (s *PushSender) sealTarget(turnID, id string, t *pushTarget) (json.RawMessage, error) {
	plain, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return s.box.Seal(sealed.Place(turnID, id), plain)
}

// openTarget returns the target of a webhook. One that was kept before there was a key
// is read as it is.
func (s *PushSender) openTarget(h *service.Webhook) (*pushTarget, error) {
	plain, err := s.box.Open(sealed.Place(h.TurnID, h.ID), h.Data)
	if err != nil {
		return nil, errPushSealed
	}
	t := new(pushTarget)
	if err := json.Unmarshal(plain, t); err != nil {
		return nil, errPushSealed
	}
	return t, nil
}
