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

// outageRetry is how long a client is told to wait.
const outageRetry = time.Second

// retryLater returns an error of gRPC for a request that may be made again after a
// while.
func retryLater(code codes.Code, message string, after time.Duration) error {
	refused := status.New(code, message)
	if more, err := refused.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); err == nil {
		refused = more
	}
	return refused.Err()
}

// noteOutage notes that a request fails for now, because the server ends or the store
// cannot be used. The SDK knows only errors for good: its transports answer with the
// status 500, or INTERNAL.
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
		return withCode(err, codes.Unimplemented) // as the protocol maps it, but not the SDK
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), server.ErrDraining):
		return status.FromContextError(ctx.Err()).Err()
	default:
		return err
	}
}

// wrongVersionOver reports whether an error of gRPC means that the server does not
// speak the version of the protocol.
func wrongVersionOver(err error) bool {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetReason() == a2a.ErrorReason(a2a.ErrVersionNotSupported) {
			return true
		}
	}
	return false
}

// withCode returns an error of gRPC with another code.
func withCode(err error, code codes.Code) error {
	changed := status.Convert(err).Proto()
	changed.Code = int32(code) //nolint:gosec // there are 17 codes
	return status.FromProto(changed).Err()
}

// outageWriter adds a Retry-After to temporary failures and replaces status 500 by 503. JSON-RPC
// keeps status 200, since its error is in the body.
type outageWriter struct {
	http.ResponseWriter
	envelope *envelope
	begun    bool
}

// WriteHeader begins the response, but not with 200: a stream writes that before it
// knows whether it begins at all. The first bytes do.
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
	return o.ResponseWriter.Write(p)
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
