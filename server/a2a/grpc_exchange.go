package a2a

import (
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/status"
)

// grpcExchange is what becomes known of a request over gRPC while it is answered.
type grpcExchange struct {
	method, client string
	began          time.Time
	// keyID is the credential, when it is known, and problem why it does not do.
	keyID, problem string
}

// logRequest writes the line of a request, as the server does of those over HTTP.
// Metadata may hold secrets, so it is left out.
func (x *grpcExchange) logRequest(logger *zap.Logger, err error) {
	entry := logger.Check(zap.InfoLevel, "request")
	if entry == nil {
		return
	}
	fields := []zap.Field{
		zap.String("method", x.method), zap.Stringer("code", status.Code(err)), zap.Duration("duration", time.Since(x.began)), zap.String("client", x.client),
	}
	if x.keyID != "" {
		fields = append(fields, zap.String("key_id", x.keyID))
	}
	if x.problem != "" {
		fields = append(fields, zap.String("problem", x.problem))
	}
	entry.Write(fields...)
}
