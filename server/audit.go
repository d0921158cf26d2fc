package server

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"go.uber.org/zap"
)

// Audit operations that several protocols have.
const (
	AuditCreateSession      = "create_session"
	AuditUpdateSession      = "update_session"
	AuditCreateTurn         = "create_turn"
	AuditCancelTurn         = "cancel_turn"
	AuditResolveInteraction = "resolve_interaction"
)

// maxAuditText is the size in bytes at which client text is cut off in the audit log.
const maxAuditText = 256

// NoteAudit adds fields to the audit record of a request, such as the provider that it
// names. It does nothing for routes without an audit record.
func NoteAudit(ctx context.Context, fields ...zap.Field) {
	x := exchangeFrom(ctx)
	x.audit = append(x.audit, fields...)
}

// SetAudit replaces the audited operation of a request, for routes whose body names the
// operation. An empty operation writes no audit record.
func SetAudit(ctx context.Context, operation string) { exchangeFrom(ctx).operation = operation }

// logAudit writes the audit record of a request: who requested which operation, from where, and
// whether it was allowed. It contains no part of the body, query or headers that may be secret.
func (rt *router) logAudit(r *http.Request, x *exchange, w *response) {
	if x.operation == "" {
		return
	}
	status := cmp.Or(w.status, http.StatusOK)
	fields := []zap.Field{
		zap.String("log.type", "audit"), zap.Time("event_time", x.began.UTC()), zap.String("request_id", x.id),
		zap.String("source", "http"), zap.String("operation", x.operation), zap.String("route", x.routePath()),
		zap.Bool("allowed", isAllowed(status)), zap.Int("status", status),
		zap.String("client_ip", ClientOf(r)), zap.String("user_agent", clip.At(maxAuditText, strings.ToValidUTF8(r.UserAgent(), "\uFFFD"))),
	}
	keyID := x.keyID
	if p := x.principal; p != nil {
		keyID = p.KeyID
		fields = append(fields, zap.String("tenant", p.Caller.Tenant), zap.String("subject_id", p.Caller.Subject), zap.String("subject_kind", "user"),
			zap.String("auth_source", p.AuthSource))
	}
	if keyID != "" {
		fields = append(fields, zap.String("key_id", keyID))
	}
	if reason := cmp.Or(x.problem, x.code); reason != "" && status >= http.StatusBadRequest {
		fields = append(fields, zap.String("error", reason))
	}
	rt.server.settings.Logger.Named("audit").Info("audit", append(fields, x.audit...)...)
}

// isAllowed reports whether a request with this status had the required permissions. Resources of
// other callers look unknown, so 404 counts as denied.
func isAllowed(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		return false
	}
	return true
}
