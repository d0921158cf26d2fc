package mcp

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// trackSessions records the key that opens a session. Only that key may use the session.
func (s *Surface) trackSessions(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		session, ok := req.GetSession().(*mcp.ServerSession)
		u := userOf(req.GetExtra())
		if method != methodInitialize || !ok || u == nil || session.ID() == "" {
			return next(ctx, method, req)
		}
		if err := s.openSession(session, u.owner); err != nil {
			return nil, err
		}
		return next(ctx, method, req)
	}
}

// openSession records the owner of a session until it ends.
func (s *Surface) openSession(session *mcp.ServerSession, owner string) error {
	id := session.ID()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.owners[id]; known {
		return nil // the SDK rejects a second handshake
	}
	open := 0
	for _, other := range s.owners {
		if other == owner {
			open++
		}
	}
	switch {
	case s.closed:
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server is shutting down"}
	case open >= maxSessions:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("this key has %d open sessions: delete some of them", open)}
	}
	s.owners[id] = owner
	s.waiting.Go(func() { // ends with the session, which Close ends
		_ = session.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.owners, id)
	})
	return nil
}

// ownsSession reports whether a key opened a session that is still open.
func (s *Surface) ownsSession(id, owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owners[id] == owner
}
