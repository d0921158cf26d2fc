package a2a

import (
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/server"
)

// problem is the reason that a request does not reach the protocol.
type problem struct {
	status int
	// kind is the corresponding protocol error.
	kind    error
	message string
	// id is the ID of the JSON-RPC request, if known.
	id any
}

// writeError responds with the problem in the format of the endpoint.
func (p *problem) writeError(w http.ResponseWriter, e *endpoint) {
	reason := a2a.ErrorReason(p.kind)
	switch {
	case e.rpc:
		writeJSON(w, p.status, rpcFailure{JSONRPC: "2.0", ID: p.id, Error: rpcError{Code: codeOf[reason], Message: p.message}})
	case e.spoken == v03:
		writeOldProblem(w, p.status, codeOf[reason], reason, p.message)
	default:
		writeProblem(w, p.status, reason, p.message)
	}
}

// The JSON-RPC codes for requests that do not reach the protocol.
const (
	codeInvalidRequest  = -32600
	codeInternal        = -32603
	codeServer          = -32000
	codeUnauthenticated = -31401
	codeForbidden       = -31403
)

// codeOf maps error reasons to JSON-RPC codes.
var codeOf = map[string]int{
	"PARSE_ERROR": -32700, "INVALID_REQUEST": codeInvalidRequest, "METHOD_NOT_FOUND": -32601, "INVALID_PARAMS": -32602,
	"SERVER_ERROR": codeServer, "TASK_NOT_FOUND": -32001, "TASK_NOT_CANCELABLE": -32002, "PUSH_NOTIFICATION_NOT_SUPPORTED": -32003,
	"UNSUPPORTED_OPERATION": -32004, "CONTENT_TYPE_NOT_SUPPORTED": -32005, "INVALID_AGENT_RESPONSE": -32006,
	"EXTENDED_AGENT_CARD_NOT_CONFIGURED": -32007, "EXTENSION_SUPPORT_REQUIRED": -32008, "VERSION_NOT_SUPPORTED": -32009,
	"UNAUTHENTICATED": codeUnauthenticated, "UNAUTHORIZED": codeForbidden,
}

// rpcFailure is the response to a JSON-RPC call that fails.
type rpcFailure struct {
	Error   rpcError `json:"error"`
	ID      any      `json:"id" type:"['string','number','null']"`
	JSONRPC string   `json:"jsonrpc" const:"'2.0'"`
}

// rpcError is a JSON-RPC error.
type rpcError struct {
	Code    int    `json:"code"`
	Data    any    `json:"data,omitempty" jsonschema:"Details of the error."`
	Message string `json:"message"`
}

// restFailure is the response to an HTTP+JSON request that fails.
type restFailure struct {
	Error   restError `json:"error"`
	Code    int       `json:"code,omitempty" jsonschema:"JSON-RPC error code, in version 0.3."`
	Message string    `json:"message,omitempty" jsonschema:"Error message, in version 0.3."`
}

// restError is a google.rpc.Status.
type restError struct {
	Code    int              `json:"code" jsonschema:"HTTP status code."`
	Details []map[string]any `json:"details,omitempty" jsonschema:"Details of the error. One of them contains the reason that the protocol defines." items:"{'type':'object','examples':[{'@type':'type.googleapis.com/google.rpc.ErrorInfo','reason':'TASK_NOT_FOUND','domain':'a2a-protocol.org'}]}"`
	Message string           `json:"message"`
	Status  string           `json:"status" examples:"['NOT_FOUND']"`
}

// writeProblem writes an HTTP+JSON error.
func writeProblem(w http.ResponseWriter, status int, reason, message string) {
	writeJSON(w, status, restFailure{Error: newRESTError(status, reason, message)})
}

// writeOldProblem writes an HTTP+JSON error of version 0.3.
func writeOldProblem(w http.ResponseWriter, status, code int, reason, message string) {
	writeJSON(w, status, restFailure{Error: newRESTError(status, reason, message), Code: code, Message: message})
}

func newRESTError(status int, reason, message string) restError {
	return restError{
		Code: status, Status: statusName(status), Message: message,
		Details: []map[string]any{{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": a2a.ProtocolDomain}},
	}
}

// statusName returns google.rpc's name for an HTTP status.
func statusName(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	case http.StatusInternalServerError:
		return "INTERNAL"
	default:
		return "INVALID_ARGUMENT"
	}
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	if err := server.WriteJSON(w, status, value); err != nil {
		w.WriteHeader(status) // not reached: strings and numbers
	}
}

// WriteError writes an error of the router in the format of the endpoint.
func (s *Server) WriteError(w http.ResponseWriter, r *http.Request, e *server.Error) {
	switch reason := strings.ToUpper(e.Code); {
	case isRPC(r):
		writeJSON(w, e.Status, rpcFailure{JSONRPC: "2.0", Error: rpcError{Code: codeOfStatus(e.Status), Message: e.Message}})
	case isOldREST(r):
		writeOldProblem(w, e.Status, codeOfStatus(e.Status), reason, e.Message)
	default:
		writeProblem(w, e.Status, reason, e.Message)
	}
}

// codeOfStatus returns the JSON-RPC code of an error of the router.
func codeOfStatus(status int) int {
	switch status {
	case http.StatusUnauthorized:
		return codeUnauthenticated
	case http.StatusForbidden:
		return codeForbidden
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return codeServer
	case http.StatusInternalServerError:
		return codeInternal
	default:
		return codeInvalidRequest
	}
}

// isOldREST reports whether an HTTP+JSON request is of version 0.3.
func isOldREST(r *http.Request) bool {
	rest, isAgent := strings.CutPrefix(r.URL.Path, "/a2a/")
	_, path, _ := strings.Cut(rest, "/")
	return isAgent && strings.HasPrefix(path, "v0.3/")
}

// isRPC reports whether a request is a JSON-RPC request.
func isRPC(r *http.Request) bool {
	path, below := strings.CutSuffix(r.Pattern, "/{path...}")
	if below && r.PathValue("path") != "" || r.Method != http.MethodPost {
		return false
	}
	if r.Pattern == "" { // no route is mounted yet
		rest, isAgent := strings.CutPrefix(r.URL.Path, "/a2a/")
		return isAgent && !strings.Contains(strings.TrimSuffix(strings.TrimSuffix(rest, "/"), "/v0.3"), "/")
	}
	path = strings.TrimPrefix(path, "POST ")
	return path == "/a2a/{agent}" || path == "/a2a/{agent}/v0.3"
}
