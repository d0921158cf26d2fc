package a2a

import (
	"encoding/json"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/service"
)

var errPushSealed = errors.New("the push configuration cannot be read: it was made with another encryption key")

// pushTarget is the stored part of a configuration.
type pushTarget struct {
	URL string `json:"url"`
	// Token and Credentials are shown to the receiver.
	Token       string `json:"token,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
	Credentials string `json:"credentials,omitempty"`
	// Version is the protocol version used to create the configuration, Agent the task's agent,
	// and Context the caller's id of the context.
	Version version `json:"version"`
	Agent   string  `json:"agent"`
	Context string  `json:"context,omitempty"`
}

// sealTarget returns a target in the form stored with a webhook.
func (s *PushSender) sealTarget(turnID, id string, t *pushTarget) (json.RawMessage, error) {
	plain, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return s.box.Seal(sealed.Place(turnID, id), plain)
}

// openTarget decrypts the target of a webhook. A target stored before a key was configured is
// read as plain text.
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

func (c *call) targetOf(config *a2a.PushConfig) *pushTarget {
	t := &pushTarget{URL: config.URL, Token: config.Token, Version: c.spoken, Agent: c.agent}
	if config.Auth != nil {
		t.Scheme, t.Credentials = config.Auth.Scheme, config.Auth.Credentials
	}
	return t
}
