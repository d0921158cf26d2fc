package a2a

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// rpcCall has the members of a JSON-RPC request.
type rpcCall struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  json.RawMessage `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// completeCall returns a JSON-RPC request with parameters, because the SDK rejects requests without
// them. If the body is not a request, it returns the reason, which the SDK would not mention.
func completeCall(body []byte) ([]byte, *problem) {
	start := bytes.IndexByte(body, '{')
	var call rpcCall
	if err := json.Unmarshal(body, &call); err != nil || len(bytes.TrimSpace(body[:max(start, 0)])) > 0 || start < 0 {
		return nil, invalidCall(nil, "the body of the request must be a JSON object")
	}
	id, ok := call.id()
	switch {
	case !ok:
		return nil, invalidCall(nil, "id must be a string or a number")
	case textOf(call.Version) != "2.0":
		return nil, invalidCall(id, `jsonrpc must be "2.0"`)
	case textOf(call.Method) == "":
		return nil, invalidCall(id, "method must be the name of a method")
	case len(call.Params) > 0:
		return body, nil
	}
	return bytes.Join([][]byte{body[:start+1], body[start+1:]}, []byte(`"params":{},`)), nil
}

// id returns the request's ID, nil if it has none, or false if it is invalid.
func (c *rpcCall) id() (any, bool) {
	if len(c.ID) == 0 {
		return nil, true
	}
	switch c.ID[0] {
	case '{', '[', 't', 'f':
		return nil, false
	default:
		return c.ID, true
	}
}

// textOf returns the text of a JSON string; empty for other values.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// invalidCall returns the reason that a body is not a JSON-RPC request. Its status is 200, like that
// of the SDK's errors.
func invalidCall(id any, message string) *problem {
	return &problem{status: http.StatusOK, kind: a2a.ErrInvalidRequest, message: message, id: id}
}
