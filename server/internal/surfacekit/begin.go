package surfacekit

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/service"
)

// CheckService returns an error for a missing service or one without a runtime.
func CheckService(s *service.Service) error {
	switch {
	case s == nil:
		return errors.New("the settings have no service")
	case s.Runtime() == nil:
		return errors.New("the service has no runtime")
	default:
		return nil
	}
}

// BeginAlone creates a turn in a new session. On failure it deletes the session, unless the request
// can be repeated: then the session may belong to an earlier attempt.
func BeginAlone(ctx context.Context, s *service.Service, caller service.Caller, turn *service.CreateTurn, in service.CreateSession) (*service.Turn, error) {
	session, err := s.CreateSession(ctx, caller, in)
	if err != nil {
		return nil, err
	}
	turn.SessionID = session.ID
	made, err := s.CreateTurn(ctx, caller, *turn)
	if err != nil && in.IdempotencyKey == "" {
		err = errors.Join(err, s.DeleteSession(context.WithoutCancel(ctx), caller, session.ID))
	}
	return made, err
}
