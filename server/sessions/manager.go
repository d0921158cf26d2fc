package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

var _ pb.Manager = (*Surface)(nil)

// managed is a hosted provider's request, converted to this protocol.
type managed struct {
	scope  string
	answer func(*call) (any, error)
	path   map[string]string
	query  url.Values
	body   proto.Message
	// names are the fields of the record whose values have names.
	names map[string]string
	// list is the response field with the list; empty for a single record.
	list string
	// audit is the operation in the audit log; empty for read-only requests.
	audit string
}

// Manage handles a request of a hosted provider like the same request over HTTP, with the rights of
// its turn's caller and the same audit record.
func (s *Surface) Manage(ctx context.Context, from pb.Invocation, in, out proto.Message) error {
	m := managedRequest(in)
	if m == nil {
		return status.Error(codes.Unimplemented, "unknown request")
	}
	began := time.Now()
	c := &call{Surface: s}
	err := s.answerForTurn(ctx, c, from.TurnID, m, out)
	s.auditManaged(c, from, m.audit, began, err)
	return err
}

// answerForTurn handles a request with the caller of the turn as its caller.
func (s *Surface) answerForTurn(ctx context.Context, c *call, turnID string, m *managed, out proto.Message) error {
	caller, depth, err := s.settings.Service.TurnCaller(ctx, turnID)
	if err != nil {
		if !errors.Is(err, service.ErrNotFound) {
			return s.managedError(ctx, err)
		}
		return status.Error(codes.PermissionDenied, "only a turn of a session, not of a delegate, may manage sessions")
	}
	c.caller, c.depth = caller, depth+1
	if !caller.HasScope(m.scope) {
		return status.Errorf(codes.PermissionDenied, "the credential lacks the scope %s", m.scope)
	}
	answered, err := answerManaged(ctx, c, m)
	if err != nil {
		return s.managedError(ctx, err)
	}
	data, err := m.toMessage(answered)
	if err == nil {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, out)
	}
	if err != nil {
		return s.managedError(ctx, err)
	}
	return nil
}

// managedRequest returns the request for a message; nil if it is unknown.
func managedRequest(in proto.Message) *managed {
	session := func(id string) map[string]string { return map[string]string{"session": id} }
	turn := func(id string) map[string]string { return map[string]string{"turn": id} }
	switch r := in.(type) {
	case *pb.AgentManagerCreateSessionRequest:
		return &managed{scope: settings.ScopeSessionsWrite, names: sessionNames, answer: (*call).createSession, audit: server.AuditCreateSession, body: r}
	case *pb.AgentManagerGetSessionRequest:
		return &managed{scope: settings.ScopeSessionsRead, names: sessionNames, answer: (*call).readSession, path: session(r.GetSessionId())}
	case *pb.AgentManagerListSessionsRequest:
		q := listedQuery(r.GetLimit(), r.GetSummaryOnly(), map[string]string{"provider": r.GetProviderName(), "state": shortName(sessionNames["state"], r.GetState().String())})
		return &managed{scope: settings.ScopeSessionsRead, names: sessionNames, answer: (*call).listSessions, query: q, list: "sessions"}
	case *pb.AgentManagerUpdateSessionRequest:
		return &managed{scope: settings.ScopeSessionsWrite, names: sessionNames, answer: (*call).updateSession, audit: server.AuditUpdateSession, path: session(r.GetSessionId()), body: r}
	case *pb.AgentManagerCreateTurnRequest:
		return &managed{scope: settings.ScopeRunsWrite, names: turnNames, answer: (*call).createTurn, audit: server.AuditCreateTurn, path: session(r.GetSessionId()), body: r}
	case *pb.AgentManagerGetTurnRequest:
		return &managed{scope: settings.ScopeRunsRead, names: turnNames, answer: (*call).readTurn, path: turn(r.GetTurnId())}
	case *pb.AgentManagerListTurnsRequest:
		q := listedQuery(r.GetLimit(), r.GetSummaryOnly(), map[string]string{"status": shortName(turnNames["status"], r.GetStatus().String())})
		return &managed{scope: settings.ScopeRunsRead, names: turnNames, answer: (*call).listTurns, path: session(r.GetSessionId()), query: q, list: "turns"}
	case *pb.AgentManagerCancelTurnRequest:
		return &managed{scope: settings.ScopeRunsWrite, names: turnNames, answer: (*call).cancelTurn, audit: server.AuditCancelTurn, path: turn(r.GetTurnId()), body: r}
	case *pb.AgentManagerListTurnEventsRequest:
		q := listedQuery(r.GetLimit(), false, map[string]string{"after": strconv.FormatInt(r.GetAfterSeq(), 10)})
		return &managed{scope: settings.ScopeRunsRead, answer: (*call).listEvents, path: turn(r.GetTurnId()), query: q, list: "events"}
	case *pb.AgentManagerListInteractionsRequest:
		return &managed{scope: settings.ScopeRunsRead, names: interactionNames, answer: (*call).listInteractions, path: turn(r.GetTurnId()), list: "interactions"}
	case *pb.AgentManagerResolveInteractionRequest:
		return &managed{
			scope: settings.ScopeRunsWrite, names: interactionNames, answer: (*call).resolveInteraction, body: r, audit: server.AuditResolveInteraction,
			path: map[string]string{"turn": r.GetTurnId(), "interaction": r.GetInteractionId()},
		}
	}
	return nil
}

// listedQuery returns the query of a list.
func listedQuery(limit int32, summary bool, values map[string]string) url.Values {
	q := url.Values{}
	for name, value := range values {
		if value != "" {
			q.Set(name, value)
		}
	}
	if limit != 0 {
		q.Set("limit", strconv.Itoa(int(limit)))
	}
	if summary {
		q.Set("summary", "true")
	}
	return q
}

// unsent takes the headers of a managed request's response, which are never read.
type unsent struct {
	http.ResponseWriter
	header http.Header
}

// Header returns the headers.
func (u *unsent) Header() http.Header { return u.header }

// answerManaged returns the body of the response.
func answerManaged(ctx context.Context, c *call, m *managed) ([]byte, error) {
	var body []byte
	if m.body != nil {
		data, err := protojson.Marshal(m.body)
		if err != nil {
			return nil, badRequest("the request cannot be read: %s", err)
		}
		if body, err = m.toRequest(data); err != nil {
			return nil, badRequest("the request cannot be read: %s", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/?"+m.query.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range m.path {
		r.SetPathValue(name, value)
	}
	c.w, c.r = &unsent{header: http.Header{}}, r
	answered, err := m.answer(c)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answered)
}

// managedCodes maps HTTP statuses to gRPC codes.
var managedCodes = map[int]codes.Code{
	http.StatusBadRequest: codes.InvalidArgument, http.StatusNotFound: codes.NotFound, http.StatusConflict: codes.AlreadyExists,
	http.StatusForbidden: codes.PermissionDenied, http.StatusPreconditionFailed: codes.FailedPrecondition, http.StatusTooManyRequests: codes.ResourceExhausted,
	http.StatusServiceUnavailable: codes.Unavailable, http.StatusGatewayTimeout: codes.DeadlineExceeded, http.StatusRequestEntityTooLarge: codes.InvalidArgument,
}

// managedError returns an error with a gRPC status.
func (s *Surface) managedError(ctx context.Context, err error) error {
	f := server.Report(ctx, s.settings.Logger, err)
	code, known := managedCodes[f.Status]
	if !known {
		code = codes.Internal
	}
	s.settings.Logger.Debug("request of a hosted provider failed", zap.String("code", f.Code))
	return status.Error(code, f.Message)
}

// Prefixes of value names in the provider protocol, by field.
var (
	partNames        = map[string]string{"type": "AGENT_MESSAGE_PART_TYPE_"}
	sessionNames     = map[string]string{"state": "AGENT_SESSION_STATE_"}
	turnNames        = map[string]string{"status": "AGENT_EXECUTION_STATUS_", "toolSource": "AGENT_TOOL_SOURCE_MODE_"}
	interactionNames = map[string]string{"type": "AGENT_INTERACTION_TYPE_", "state": "AGENT_INTERACTION_STATE_"}
)

// shortName returns this protocol's name of a value; empty if there is no value.
func shortName(prefix, name string) string {
	rest := strings.TrimPrefix(name, prefix)
	if rest == "UNSPECIFIED" {
		return ""
	}
	return strings.ToLower(rest)
}

// eachPart calls yield for each part of a record's messages.
func eachPart(record map[string]any, yield func(map[string]any)) {
	messages, _ := record["messages"].([]any)
	for _, m := range messages {
		message, _ := m.(map[string]any)
		parts, _ := message["parts"].([]any)
		for _, p := range parts {
			if part, ok := p.(map[string]any); ok {
				yield(part)
			}
		}
	}
}

// renameValues renames the values of fields with named values.
func renameValues(record map[string]any, prefixes map[string]string, rename func(prefix, name string) string) {
	for field, prefix := range prefixes {
		if name, ok := record[field].(string); ok {
			record[field] = rename(prefix, name)
		}
	}
}

// toRequest converts the JSON of a provider's message to the body of a request.
func (m *managed) toRequest(data []byte) ([]byte, error) {
	var record map[string]any
	if err := json.Unmarshal(data, &record); err != nil {
		return nil, err
	}
	if name, ok := record["providerName"]; ok {
		record["provider"] = name
	}
	for _, name := range []string{"providerName", "invocationToken", "sessionId", "turnId", "interactionId"} {
		delete(record, name)
	}
	renameValues(record, m.names, shortName)
	eachPart(record, func(part map[string]any) { renameValues(part, partNames, shortName) })
	return json.Marshal(record)
}

// toMessage converts the response to the JSON of a provider's message.
func (m *managed) toMessage(answered []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(answered))
	decoder.UseNumber()
	var answer any
	if err := decoder.Decode(&answer); err != nil {
		return nil, err
	}
	records, isList := answer.([]any)
	if !isList {
		records = []any{answer}
	}
	longName := func(prefix, name string) string { return prefix + strings.ToUpper(name) }
	for _, r := range records {
		record, ok := r.(map[string]any)
		if !ok {
			continue
		}
		if name, ok := record["provider"]; ok {
			record["providerName"] = name
			delete(record, "provider")
		}
		renameValues(record, m.names, longName)
		eachPart(record, func(part map[string]any) { renameValues(part, partNames, longName) })
	}
	if m.list != "" {
		answer = map[string]any{m.list: answer}
	}
	return json.Marshal(answer)
}
