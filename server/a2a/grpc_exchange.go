package a2a

import (
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/status"
)

// grpcExchange collects what is known about a gRPC request while it is answered.
type grpcExchange struct {
	method, client string
	began          time.Time
	// keyID is the credential, if known, and problem why it is not accepted.
	keyID, problem string
}

// logRequest logs a request, like the server's log of HTTP requests. Metadata may contain secrets,
// so it is omitted.
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
