package surfacekit

import (
	"context"
	"net/http"

	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
)

// AbortStream ends a response so that it is not whole, which takes a panic. The error is
// logged, unless the request has ended.
func AbortStream(ctx context.Context, logger *zap.Logger, turnID string, err error) {
	if ctx.Err() == nil {
		logger.Error("a stream breaks off", zap.String("request_id", server.RequestID(ctx)), zap.String("turn_id", turnID), zap.Error(err))
	}
	panic(http.ErrAbortHandler)
}
