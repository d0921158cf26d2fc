package sessions

import (
	"time"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// auditManaged writes the audit record of a hosted provider's request: which provider sent it
// during which turn, for whom, and whether it was allowed. Read-only requests have no operation and
// no record, as over HTTP.
func (s *Surface) auditManaged(c *call, from pb.Invocation, operation string, began time.Time, err error) {
	if operation == "" {
		return
	}
	code := status.Code(err)
	fields := []zap.Field{
		zap.String("log.type", "audit"), zap.Time("event_time", began.UTC()), zap.String("source", "hosted_provider"),
		zap.String("operation", operation), zap.String("hosted_provider", from.Provider), zap.String("turn_id", from.TurnID),
		zap.Bool("allowed", isAllowed(code)), zap.String("tenant", c.caller.Tenant), zap.String("subject_id", c.caller.Subject),
		zap.String("subject_kind", "user"),
	}
	if c.provider != "" {
		fields = append(fields, zap.String("provider", c.provider))
	}
	if err != nil {
		fields = append(fields, zap.String("error", code.String()))
	}
	s.settings.Logger.Named("audit").Info("audit", fields...)
}

// isAllowed reports whether a request with this status passed all checks of the caller's rights.
// Records of other callers look unknown.
func isAllowed(code codes.Code) bool {
	switch code {
	case codes.PermissionDenied, codes.Unauthenticated, codes.NotFound, codes.ResourceExhausted:
		return false
	}
	return true
}
