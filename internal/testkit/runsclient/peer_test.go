package runsclient_test

import (
	"encoding/json"
	"net/http"
)

// peer is a remote agent. It answers at one path, in version 0.3 of the protocol or in the latest.
type peer struct {
	path   string
	latest bool

	seen           keys
	asked, context string
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.seen.add(r.Header.Get("X-Key"))
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/.well-known/agent-card.json":
		_ = json.NewEncoder(w).Encode(object{"name": "Peer", "description": "Knows itself."})
	case r.Method == http.MethodPost && r.URL.Path == p.path:
		p.answer(w, r)
	default:
		http.NotFound(w, r)
	}
}

type said struct {
	ContextID string `json:"contextId"`
	Role      string `json:"role"`
	Parts     []struct {
		Text string `json:"text"`
	} `json:"parts"`
}

func (p *peer) answer(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  struct {
			Message *said `json:"message"`
		} `json:"params"`
		Message *said `json:"message"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	message, method, role := request.Message, "message/send", "user"
	if request.Version != "" {
		message = request.Params.Message
	}
	latest := p.latest || request.Version == "" // REST uses the latest version's terms
	if latest {
		method, role = "SendMessage", "ROLE_USER"
	}
	var answer any = object{"kind": "message", "messageId": "m", "role": "agent", "parts": []any{object{"kind": "text", "text": "I am the peer."}}}
	if latest {
		answer = object{"message": object{"messageId": "m", "role": "ROLE_AGENT", "parts": []any{object{"text": "I am the peer."}}}}
	}
	switch {
	case request.Version != "" && request.Method != method:
		answer = object{"jsonrpc": "2.0", "id": request.ID, "error": object{"code": -32601, "message": "method not found"}}
	case message == nil || len(message.Parts) != 1 || message.Role != role:
		http.Error(w, "no message", http.StatusBadRequest)
		return
	default:
		p.asked, p.context = message.Parts[0].Text, message.ContextID
		if request.Version != "" {
			answer = object{"jsonrpc": "2.0", "id": request.ID, "result": answer}
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}
