package a2a

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/server"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// outageRetry is the retry delay sent to clients.
const outageRetry = time.Second

// retryLater returns a gRPC error for a request that may be retried after a while.
func retryLater(code codes.Code, message string, after time.Duration) error {
	refused := status.New(code, message)
	if more, err := refused.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); err == nil {
		refused = more
	}
	return refused.Err()
}

// noteOutage records that a request fails temporarily, because the server is shutting down or the
// store is unavailable. The SDK knows only permanent errors: its transports answer with the status
// 500, or INTERNAL.
func noteOutage(ctx context.Context) {
	if e, ok := ctx.Value(envelopeKey{}).(*envelope); ok {
		e.outage.Store(true)
	}
}

// grpcOutage returns the error of a gRPC request: UNAVAILABLE for a temporary failure, and the
// context's error if the client ended the request, since a canceled stream must not look
// successful.
func grpcOutage(ctx context.Context, err error) error {
	e, ok := ctx.Value(envelopeKey{}).(*envelope)
	switch {
	case err != nil && ok && e.outage.Load():
		return retryLater(codes.Unavailable, status.Convert(err).Message(), outageRetry)
	case wrongVersionOver(err):
		return withCode(err, codes.Unimplemented) // the protocol's mapping, unlike the SDK's
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), server.ErrDraining):
		return status.FromContextError(ctx.Err()).Err()
	default:
		return err
	}
}

// wrongVersionOver reports whether a gRPC error means that the server does not support the protocol
// version.
func wrongVersionOver(err error) bool {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetReason() == a2a.ErrorReason(a2a.ErrVersionNotSupported) {
			return true
		}
	}
	return false
}

// withCode returns a gRPC error with another code.
func withCode(err error, code codes.Code) error {
	changed := status.Convert(err).Proto()
	changed.Code = int32(code) //nolint:gosec // there are 17 codes
	return status.FromProto(changed).Err()
}

// outageWriter adds a Retry-After to temporary failures and replaces status 500 by 503. JSON-RPC
// keeps status 200, since its error is in the body. Errors of the SDK are rewritten.
type outageWriter struct {
	http.ResponseWriter
	envelope *envelope
	begun    bool
}

// WriteHeader begins the response, but not for 200: a stream writes that before it knows whether it
// begins at all. The first bytes begin it.
func (o *outageWriter) WriteHeader(status int) {
	if status != http.StatusOK {
		o.writeHeaderOnce(status)
	}
}

func (o *outageWriter) writeHeaderOnce(status int) {
	if !o.begun && o.envelope.outage.Load() {
		o.Header().Set("Retry-After", strconv.Itoa(int(outageRetry.Seconds())))
		if status == http.StatusInternalServerError {
			status = http.StatusServiceUnavailable
		}
	}
	o.begun = true
	o.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the response.
func (o *outageWriter) Write(p []byte) (int, error) {
	if !o.begun {
		o.writeHeaderOnce(http.StatusOK)
	}
	if _, err := o.ResponseWriter.Write(rewriteErrors(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush sends the written data.
func (o *outageWriter) Flush() {
	if !o.begun {
		o.writeHeaderOnce(http.StatusOK)
	}
	_ = http.NewResponseController(o.ResponseWriter).Flush() // an error shows up in the next write
}

// Unwrap returns the wrapped writer.
func (o *outageWriter) Unwrap() http.ResponseWriter { return o.ResponseWriter }
