package a2aserver

import (
	"context"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// outageRetry is how many seconds a client is told to wait.
const outageRetry = "1"

// noteOutage notes that a request fails for now, because the server ends or the store
// cannot be used. The SDK knows only errors for good: its transports answer with the
// status 500, or INTERNAL.
func noteOutage(ctx context.Context) {
	if e, ok := ctx.Value(envelopeKey{}).(*envelope); ok {
		e.outage.Store(true)
	}
}

// grpcOutage returns the error of a request over gRPC, as UNAVAILABLE where it fails
// for now.
func grpcOutage(ctx context.Context, err error) error {
	e, ok := ctx.Value(envelopeKey{}).(*envelope)
	if err == nil || !ok || !e.outage.Load() {
		return err
	}
	return status.Error(codes.Unavailable, status.Convert(err).Message())
}

// outageWriter answers a request that fails for now with a Retry-After, and with the
// status 503 in place of 500. JSON-RPC keeps its 200: the error is in the body.
type outageWriter struct {
	http.ResponseWriter
	envelope *envelope
	begun    bool
}

// WriteHeader begins the response, but not with 200: a stream writes that before it
// knows whether it begins at all. The first bytes do.
func (o *outageWriter) WriteHeader(status int) {
	if status != http.StatusOK {
		o.begin(status)
	}
}

func (o *outageWriter) begin(status int) {
	if !o.begun && o.envelope.outage.Load() {
		o.Header().Set("Retry-After", outageRetry)
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
		o.begin(http.StatusOK)
	}
	return o.ResponseWriter.Write(p)
}

// Flush sends what was written.
func (o *outageWriter) Flush() {
	if !o.begun {
		o.begin(http.StatusOK)
	}
	_ = http.NewResponseController(o.ResponseWriter).Flush() // the next write tells what is wrong
}

// Unwrap returns the writer behind.
func (o *outageWriter) Unwrap() http.ResponseWriter { return o.ResponseWriter }
