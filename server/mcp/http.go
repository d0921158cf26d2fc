package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// message has the fields of a JSON-RPC message that determine its handler.
type message struct {
	id     json.RawMessage
	method string
	// meta is the _meta of the parameters, state their requestState and task their task.
	meta        map[string]json.RawMessage
	state, task json.RawMessage
}

// readMessage reads a message. Field names are case-sensitive as in the SDK, so that both see the
// same method.
func readMessage(body []byte) (m message, err error) {
	var fields, params map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return m, err
	}
	m.id = fields["id"]
	if err := errors.Join(readField(fields, "method", &m.method), readField(fields, "params", &params)); err != nil {
		return m, err
	}
	m.state, m.task = params["requestState"], params["task"]
	return m, readField(params, "_meta", &m.meta)
}

func readField(fields map[string]json.RawMessage, name string, into any) error {
	raw, ok := fields[name]
	if !ok {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// auditOperation returns a message's operation for the audit log; empty for messages that change
// nothing. A client response answers a question.
func (m *message) auditOperation() string {
	switch {
	case m.method == "", m.method == methodUpdateTask, m.method == methodCall && len(m.state) > 0:
		return server.AuditResolveInteraction
	case m.method == methodCall:
		return server.AuditCreateTurn
	case m.method == "notifications/cancelled", m.method == methodCancelTask:
		return server.AuditCancelTurn
	default:
		return ""
	}
}

// serveMessage handles a request of either path.
func (s *Surface) serveMessage(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
	if !s.allowsOrigin(r) {
		return writeRPCError(w, http.StatusForbidden, nil, jsonrpc.CodeInvalidRequest, "requests from the pages of other sites are not allowed")
	}
	only := r.PathValue("agent")
	if only != "" {
		if _, err := s.settings.Service.Catalog(r.Context(), caller).Agent(only); err != nil {
			return writeRPCError(w, http.StatusNotFound, nil, jsonrpc.CodeInvalidRequest, "there is no such agent")
		}
	}
	var m message
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if err := server.CheckJSON(body, server.MaxJSONDepth); err != nil {
			return writeRPCError(w, http.StatusBadRequest, nil, jsonrpc.CodeParseError, diag.Sentence("the body", err.Error()))
		}
		if m, err = readMessage(body); err != nil {
			return writeRPCError(w, http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "the body must be one JSON-RPC message")
		}
		server.SetAudit(r.Context(), m.auditOperation())
		if m.method == methodCall && len(m.task) > 0 {
			body = moveTaskOf(body)
		}
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	next := s.stateless
	if _, hasVersion := m.meta[versionMeta]; !hasVersion && r.Header.Get(versionHeader) < firstStateless {
		if done, err := s.refuseLegacy(w, r, &m); done {
			return err
		}
		next = s.stateful
	}
	principal, _ := server.PrincipalFrom(r.Context())
	out := &stream{ResponseWriter: w, id: m.id}
	ctx := context.WithValue(r.Context(), userKey{}, &user{caller: caller, only: only, owner: ownerOf(principal), out: out})
	next.ServeHTTP(out, r.WithContext(ctx))
	return out.end()
}

// refuseLegacy responds to session requests that the SDK would handle wrongly.
func (s *Surface) refuseLegacy(w http.ResponseWriter, r *http.Request, m *message) (done bool, err error) {
	principal, _ := server.PrincipalFrom(r.Context())
	id := r.Header.Get(sessionHeader)
	switch {
	case id != "" && !s.ownsSession(id, ownerOf(principal)):
		return true, writeRPCError(w, http.StatusNotFound, m.id, jsonrpc.CodeInvalidRequest, "there is no such session: initialize again")
	case r.Method != http.MethodPost || m.method == "":
		return false, nil
	case id == "" && m.method != methodInitialize:
		return true, writeRPCError(w, http.StatusBadRequest, m.id, jsonrpc.CodeInvalidRequest, "the header Mcp-Session-Id is required: initialize first")
	case len(m.id) > 0 && !slices.Contains(legacyMethods, m.method):
		return true, writeRPCError(w, http.StatusOK, m.id, jsonrpc.CodeMethodNotFound, "there is no such method")
	default:
		return false, nil
	}
}

// user is the sender of an HTTP request.
type user struct {
	caller service.Caller
	// only is the only agent, named by the path; empty means all.
	only string
	// owner identifies the key.
	owner string
	// out is the response to the request.
	out *stream
}

type userKey struct{}

// ownerOf returns the identity of a request's key.
func ownerOf(p *server.Principal) string {
	sum := sha256.New()
	for _, part := range []string{p.Caller.Tenant, p.Caller.Subject, p.KeyID} {
		sum.Write([]byte(part + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// asUser passes the user of a request to the SDK's handlers, which see only the values set by its
// token middleware.
func asUser(next http.Handler) http.Handler {
	verify := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		u, ok := ctx.Value(userKey{}).(*user)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: u.owner, Extra: map[string]any{"user": u}}, nil
	}
	protected := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer checked") // also hides the credential from handlers
		r.Header.Del("X-Api-Key")
		protected.ServeHTTP(w, r)
	})
}

// userOf returns the sender of a request; nil over stdio.
func userOf(extra *mcp.RequestExtra) *user {
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	u, _ := extra.TokenInfo.Extra["user"].(*user)
	return u
}

// allowsOrigin reports whether a request's page, if any, may send it. A page that rebinds its name
// to a loopback address has a foreign Host.
func (s *Surface) allowsOrigin(r *http.Request) bool {
	public, err := url.Parse(s.settings.PublicURL())
	if err != nil {
		public = &url.URL{}
	}
	host := &url.URL{Host: r.Host}
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsLoopback() && !hostlist.IsLoopback(host.Hostname()) && !strings.EqualFold(host.Hostname(), public.Hostname()) {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(s.settings.Origins, "*") || slices.Contains(s.settings.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && (strings.EqualFold(u.Host, r.Host) || strings.EqualFold(u.Host, public.Host))
}

// rpcError is an error response outside of a stream.
type rpcError struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   rpcErrorDetail  `json:"error"`
}

type rpcErrorDetail struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty" jsonschema:"Details of the error."`
}

func writeRPCError(w http.ResponseWriter, status int, id json.RawMessage, code int64, text string) error {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return server.WriteJSON(w, status, rpcError{"2.0", id, rpcErrorDetail{Code: code, Message: text}})
}

// WriteError answers with an error of the router.
func (s *Surface) WriteError(w http.ResponseWriter, r *http.Request, e *server.Error) {
	h := w.Header()
	if challenge := h.Get("WWW-Authenticate"); challenge != "" && s.settings.Issuer() != "" && strings.HasPrefix(r.URL.Path, "/mcp") {
		h.Set("WWW-Authenticate", challenge+`, resource_metadata="`+s.publicURL()+metadataPath+r.URL.EscapedPath()+`"`)
	}
	_ = writeRPCError(w, e.Status, nil, jsonrpc.CodeInvalidRequest, e.Message) // a client that is gone needs no answer
}

// stream is the response to a request. Comments keep it open during a tool call. Errors that the
// SDK writes as text become JSON-RPC errors.
type stream struct {
	http.ResponseWriter
	id json.RawMessage

	mu    sync.Mutex
	ended bool
	// status is set for an error; problem is its text.
	status  int
	problem []byte
}

// WriteHeader sends the header, except for an error.
func (s *stream) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(s.Header().Get("Content-Type"), "text/plain") {
		s.status = status
		return
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write writes an event, which the SDK writes in one call.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != 0 {
		s.problem = append(s.problem, p...)
		return len(p), nil
	}
	if _, err := s.ResponseWriter.Write(clipProblem(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// maxProblem is the maximum length of an error's message in bytes.
const maxProblem = 256

// clipProblem shortens the texts of an error response in a body or an event. The SDK repeats the
// method, the version and names of the request in them.
func clipProblem(p []byte) []byte {
	from, to := bytes.IndexByte(p, '{'), bytes.LastIndexByte(p, '}')+1
	if len(p) <= maxProblem || from < 0 || to <= from || !bytes.Contains(p, []byte(`"error":{`)) {
		return p
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *rpcErrorDetail `json:"error"`
	}
	if json.Unmarshal(p[from:to], &m) != nil || m.Error == nil {
		return p
	}
	m.Error.Message = clip.At(maxProblem, m.Error.Message)
	if data, ok := m.Error.Data.(map[string]any); ok {
		for name, value := range data {
			if text, ok := value.(string); ok {
				data[name] = clip.At(maxProblem, text)
			}
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return p // not reached: the parts were valid JSON
	}
	return slices.Concat(p[:from], text, p[to:])
}

// Unwrap returns the writer that can be flushed.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// keepAlive sends comments until the response has ended. The header must be set.
func (s *stream) keepAlive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.status != 0 {
		return
	}
	if _, err := io.WriteString(s.ResponseWriter, ": keep-alive\n\n"); err == nil {
		_ = http.NewResponseController(s.ResponseWriter).Flush() // the next write reports it
	}
}

// end stops the comments and writes an error.
func (s *stream) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.status == 0 {
		return nil
	}
	return writeRPCError(s.ResponseWriter, s.status, s.id, jsonrpc.CodeInvalidRequest, clip.At(maxProblem, strings.TrimSpace(string(s.problem))))
}
