package agentruns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// The JSON-RPC errors, including the one for a failed run.
const (
	rpcParse         = -32700
	rpcRequest       = -32600
	rpcMethod        = -32601
	rpcParams        = -32602
	rpcInternal      = -32603
	rpcRunFailed     = -32000
	rpcNoTask        = -32001
	rpcNoPush        = -32003
	rpcVersion       = "2.0"
	methodSend       = "message/send"
	a2aCardVersion   = "0.3.0"
	a2aAgentRevision = "1.0.0"
)

// rpcError is a JSON-RPC error.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error returns the message.
func (e *rpcError) Error() string { return e.Message }

// rpcRequestBody is a JSON-RPC request.
type rpcRequestBody struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Message       *a2aMessage     `json:"message"`
		Metadata      json.RawMessage `json:"metadata"`
		Configuration struct {
			AcceptedOutputModes    json.RawMessage `json:"acceptedOutputModes"`
			Blocking               json.RawMessage `json:"blocking"`
			HistoryLength          json.RawMessage `json:"historyLength"`
			PushNotificationConfig json.RawMessage `json:"pushNotificationConfig"`
		} `json:"configuration"`
	} `json:"params"`
}

// checkSupported rejects a request with a field that would change the answer if it were
// supported.
func (r *rpcRequestBody) checkSupported() error {
	has := func(value json.RawMessage) bool {
		return len(value) > 0 && string(value) != "null" && string(value) != "[]" && string(value) != `""`
	}
	problem, code := "", rpcParams
	switch m := r.Params.Message; {
	case has(r.Params.Configuration.PushNotificationConfig):
		problem, code = "params.configuration.pushNotificationConfig: there are no push notifications", rpcNoPush
	case has(m.TaskID):
		problem, code = "params.message.taskId: there are no tasks; contextId continues a conversation", rpcNoTask
	case has(m.ReferenceTaskIDs):
		problem = "params.message.referenceTaskIds: there are no tasks"
	case m.Role != "" && m.Role != "user":
		problem = "params.message.role must be user"
	default:
		return nil
	}
	return &rpcError{Code: code, Message: problem}
}

// a2aMessage is a message of A2A 0.3.
type a2aMessage struct {
	Kind      string         `json:"kind"`
	MessageID string         `json:"messageId"`
	ContextID string         `json:"contextId,omitempty"`
	Role      string         `json:"role"`
	Parts     []a2aPart      `json:"parts"`
	Metadata  map[string]any `json:"metadata,omitempty"`

	Extensions       json.RawMessage `json:"extensions,omitempty"`
	TaskID           json.RawMessage `json:"taskId,omitempty"`
	ReferenceTaskIDs json.RawMessage `json:"referenceTaskIds,omitempty"`
}

type a2aPart struct {
	Kind     string          `json:"kind"`
	Text     string          `json:"text"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// a2aSend runs an agent with a message and responds with its answer.
func (c *call) a2aSend() error {
	agent := c.r.PathValue("agent")
	if _, err := c.a2aAgent(agent); err != nil {
		return err
	}
	data, err := io.ReadAll(c.r.Body)
	if err != nil {
		return err
	}
	var req rpcRequestBody
	result, err := c.a2aCall(agent, data, &req)
	answer := struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  *a2aMessage     `json:"result,omitempty"`
		Error   *rpcError       `json:"error,omitempty"`
	}{Version: rpcVersion, ID: req.ID, Result: result}
	if len(req.ID) == 0 {
		answer.ID = json.RawMessage("null")
	}
	if err != nil {
		if cause := context.Cause(c.r.Context()); errors.Is(cause, server.ErrDraining) {
			panic(http.ErrAbortHandler) // the run goes on: an answer would be taken for its end
		}
		answer.Error = c.rpcErrorOf(err)
	}
	return server.WriteJSON(c.w, http.StatusOK, answer)
}

// a2aAgent returns a declared agent that the caller may use.
func (c *call) a2aAgent(id string) (*spec.Agent, error) {
	return c.settings.Service.Catalog(c.r.Context(), c.caller).Agent(id)
}

// a2aCall handles a JSON-RPC request, which it reads into req.
func (c *call) a2aCall(agent string, data []byte, req *rpcRequestBody) (*a2aMessage, error) {
	if err := server.CheckJSON(data, server.MaxJSONDepth); err != nil {
		e := &rpcError{Code: rpcRequest, Message: diag.Sentence("the body", err.Error())}
		if !json.Valid(data) {
			e.Code = rpcParse
		}
		return nil, e
	}
	if err := json.Unmarshal(data, req); err != nil || bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return nil, &rpcError{Code: rpcRequest, Message: "the body is not a JSON-RPC request"}
	}
	server.WarnUnknownFields(c.w, c.r, c.settings.Logger, server.UnknownFields(data, req))
	if string(req.Params.Configuration.Blocking) == "false" {
		server.AddWarning(c.w.Header(), "params.configuration.blocking: the answer is sent when the run has ended")
	}
	text, err := req.messageText()
	if err == nil {
		err = req.checkSupported()
	}
	if err != nil {
		return nil, err
	}
	var session *service.Session // nil begins a conversation
	if contextID := req.Params.Message.ContextID; contextID != "" {
		var err error
		if session, err = c.a2aSession(contextID); err != nil {
			return nil, err
		}
	}
	f := fields{fieldAgentID: encodeJSON(agent), fieldPrompt: encodeJSON(text)}
	turn, _, err := c.beginTurn(f, session, labelA2A, repetition{})
	if err != nil {
		return nil, err
	}
	return c.a2aAnswer(turn)
}

// messageText checks a request and returns its message's text.
func (r *rpcRequestBody) messageText() (string, error) {
	switch m := r.Params.Message; {
	case r.Version != rpcVersion:
		return "", &rpcError{Code: rpcRequest, Message: "jsonrpc must be 2.0"}
	case r.Method != methodSend:
		return "", &rpcError{Code: rpcMethod, Message: "the only method is " + methodSend}
	case m == nil:
		return "", &rpcError{Code: rpcParams, Message: "params.message is required"}
	}
	var text strings.Builder
	for i, p := range r.Params.Message.Parts {
		if p.Kind != "text" {
			return "", &rpcError{Code: rpcParams, Message: fmt.Sprintf("params.message.parts[%d].kind must be text", i)}
		}
		text.WriteString(p.Text)
	}
	if text.Len() == 0 {
		return "", &rpcError{Code: rpcParams, Message: "the message says nothing"}
	}
	return text.String(), nil
}

// a2aSession returns the session of a conversation.
func (c *call) a2aSession(contextID string) (*service.Session, error) {
	session, err := c.settings.Service.GetSession(c.r.Context(), c.caller, contextID)
	if errors.Is(err, service.ErrNotFound) || err == nil && session.Labels[ownKey] != labelA2A {
		return nil, &rpcError{Code: rpcParams, Message: fmt.Sprintf("there is no context %q: omit contextId to start one", clip.Text(contextID))}
	}
	return session, err
}

// a2aAnswer waits for a run and returns its answer.
func (c *call) a2aAnswer(turn *service.Turn) (*a2aMessage, error) {
	ctx := c.r.Context()
	ended, err := c.settings.Service.WaitTurn(ctx, c.caller, turn.ID)
	if err != nil {
		return nil, err
	}
	found := &run{Turn: ended}
	if !own.Decode(ended.Metadata, &found.record) {
		return nil, errors.New("the turn keeps no run") // not reached: created with one
	}
	last, used, err := c.terminalPayload(ctx, found)
	if err != nil {
		return nil, err
	}
	switch p := last.(type) {
	case runResult:
		if p.OK {
			return &a2aMessage{
				Kind: "message", MessageID: ended.ID, ContextID: ended.SessionID, Role: "agent",
				Parts: []a2aPart{{Kind: "text", Text: *p.Text}}, Metadata: map[string]any{"mantyx": used},
			}, nil
		}
		return nil, &rpcError{Code: rpcRunFailed, Message: p.Error, Data: map[string]any{"code": p.Subtype, "mantyx": used}}
	case runError:
		return nil, &rpcError{Code: rpcRunFailed, Message: p.Error, Data: map[string]any{"code": p.Code, "mantyx": used}}
	default:
		return nil, &rpcError{Code: rpcRunFailed, Message: "the run was canceled", Data: map[string]any{"code": typeCanceled}}
	}
}

// rpcErrorOf converts an error to JSON-RPC, with the delay before a retry if it may be temporary.
func (c *call) rpcErrorOf(err error) *rpcError {
	if known, ok := errors.AsType[*rpcError](err); ok {
		return known
	}
	e := c.requestErrorOf(err)
	if e.Code == codeUnavailable {
		c.w.Header().Set("Retry-After", retryUnavailable)
	}
	code := rpcParams
	if e.Code == codeInternal || e.Code == codeUnavailable {
		code = rpcInternal
	}
	return &rpcError{Code: code, Message: e.Message, Data: map[string]any{"code": e.Code}}
}

// a2aCard answers with the card of an agent.
func (c *call) a2aCard() error {
	agent, err := c.a2aAgent(c.r.PathValue("agent"))
	if err != nil {
		return err
	}
	text := []string{"text/plain"}
	return server.WriteJSON(c.w, http.StatusOK, map[string]any{
		"protocolVersion": a2aCardVersion, "name": agent.ID, "description": agent.Description, "version": a2aAgentRevision,
		"url": c.a2aURL(agent.ID), "preferredTransport": "JSONRPC",
		"capabilities":      map[string]bool{"streaming": false, "pushNotifications": false},
		"defaultInputModes": text, "defaultOutputModes": text,
		"skills": []map[string]any{{"id": agent.ID, "name": agent.ID, "description": agent.Description, "tags": []string{}}},
	})
}

// a2aURL returns the URL of an agent.
func (c *call) a2aURL(agent string) string {
	return strings.TrimRight(c.settings.PublicURL, "/") + "/api/a2a/" + url.PathEscape(c.caller.Tenant) + "/agents/" + url.PathEscape(agent)
}

// agentList is the body of the list of agents.
type agentList struct {
	Agents []foundAgent `json:"agents"`
}

type foundAgent struct {
	ID          string `json:"id"`
	Slug        string `json:"slug" jsonschema:"The name in paths."`
	Description string `json:"description"`
	URL         string `json:"url"`
	CardURL     string `json:"agentCardUrl"`
}

// a2aDiscovery answers with the agents that the caller may use.
func (c *call) a2aDiscovery() error {
	list := agentList{Agents: []foundAgent{}}
	for id, agent := range c.settings.Service.Catalog(c.r.Context(), c.caller).Agents() {
		at := c.a2aURL(id)
		list.Agents = append(list.Agents, foundAgent{ID: id, Slug: id, Description: agent.Description, URL: at, CardURL: at + "/.well-known/agent-card.json"})
	}
	return server.WriteJSON(c.w, http.StatusOK, list)
}
