package runsclient

import (
	"context"
	"net/http"
)

// Session is a conversation kept by the server.
type Session struct {
	ID     string
	client *Client
	tools  []Tool
	// resend reports whether messages include the tools.
	resend bool
}

// SessionInfo is the state of a session.
type SessionInfo struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Status     string            `json:"status"`
	CreatedAt  string            `json:"createdAt"`
	LastUsedAt string            `json:"lastUsedAt"`
	EndedAt    *string           `json:"endedAt"`
	AgentSpec  map[string]any    `json:"agentSpec"`
	Messages   []Message         `json:"messages"`
	Metadata   map[string]string `json:"metadata"`
}

// CreateSession begins a session.
func (c *Client) CreateSession(ctx context.Context, spec Spec) (*Session, error) {
	var made struct {
		SessionID string `json:"sessionId"`
		Name      string `json:"name"`
		CreatedAt string `json:"createdAt"`
	}
	if err := c.callAPI(ctx, http.MethodPost, c.Path("agent-sessions"), normalizeSpec(spec), &made); err != nil {
		return nil, err
	}
	if made.SessionID == "" {
		return nil, &ProtocolError{Problem: "a session has no id"}
	}
	return &Session{ID: made.SessionID, client: c, tools: spec.Tools, resend: c.o.SDK != Go}, nil
}

// ResumeSession resumes a session, with the tools for its further messages.
func (c *Client) ResumeSession(ctx context.Context, id string, tools []Tool) (*Session, error) {
	s := &Session{ID: id, client: c, tools: tools, resend: c.o.SDK == Go || len(tools) > 0}
	_, err := s.Info(ctx)
	return s, err
}

// Post begins the run of a message without following it.
func (s *Session) Post(ctx context.Context, message Spec) (Created, error) {
	return s.client.createRun(ctx, s.client.Path("agent-sessions", s.ID, "messages"), s.messageBody(message))
}

// messageBody returns the body of a message, with tools only if the SDK sends them.
func (s *Session) messageBody(message Spec) any {
	if message.Tools != nil {
		return message
	}
	if s.resend {
		message.Tools = s.tools
		return normalizeSpec(message)
	}
	return struct {
		Spec
		Tools []Tool `json:"tools,omitempty"`
	}{Spec: message}
}

// Send posts a message, makes the calls that its run requests and waits for the end.
func (s *Session) Send(ctx context.Context, message Spec) (*Result, error) {
	made, err := s.Post(ctx, message)
	if err != nil {
		return nil, err
	}
	return s.client.Drive(ctx, made.RunID, append(s.tools[:len(s.tools):len(s.tools)], message.Tools...), 0, nil)
}

// Info returns the state of the session.
func (s *Session) Info(ctx context.Context) (*SessionInfo, error) {
	var info SessionInfo
	return &info, s.client.callAPI(ctx, http.MethodGet, s.client.Path("agent-sessions", s.ID), nil, &info)
}

// End ends the session.
func (s *Session) End(ctx context.Context) error {
	return s.client.callAPI(ctx, http.MethodDelete, s.client.Path("agent-sessions", s.ID), nil, nil)
}
