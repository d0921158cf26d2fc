package runsclient

import (
	"context"
	"fmt"
	"net/http"
)

// Reply is an agent's answer to a peer.
type Reply struct {
	Kind      string `json:"kind"`
	MessageID string `json:"messageId"`
	Role      string `json:"role"`
	Parts     []struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
	} `json:"parts"`
	Metadata struct {
		Mantyx map[string]any `json:"mantyx"`
	} `json:"metadata"`
}

// RPCError is a JSON-RPC error.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error describes the rejection.
func (e *RPCError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Ask sends a message to an agent like a peer.
func (c *Client) Ask(ctx context.Context, agent, text string) (*Reply, error) {
	message := map[string]any{"kind": "message", "messageId": "m-1", "role": "user", "parts": []any{map[string]any{"kind": "text", "text": text}}}
	request := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": map[string]any{"message": message}}
	var answer struct {
		Version string    `json:"jsonrpc"`
		ID      int       `json:"id"`
		Result  *Reply    `json:"result"`
		Error   *RPCError `json:"error"`
	}
	if err := c.callAPI(ctx, http.MethodPost, "/api/a2a/"+escapeText(c.o.Workspace)+"/agents/"+escapeText(agent), request, &answer); err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	if answer.Result == nil || answer.Version != "2.0" || answer.ID != 1 {
		return nil, &ProtocolError{Problem: "the answer of the agent is no result"}
	}
	return answer.Result, nil
}
