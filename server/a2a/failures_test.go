package a2a

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/testkit/failuretest"
	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
)

// TestEveryErrorIsAnsweredByItsClass is about all transports: each writes the error of
// the protocol in its own form, and an outage as what may be asked again.
func TestEveryErrorIsAnsweredByItsClass(t *testing.T) {
	t.Parallel()
	s := &Server{settings: Settings{Logger: zap.NewNop()}}
	ownFault := []error{a2a.ErrInternalError, a2a.ErrServerError}
	for _, tt := range failuretest.All() {
		e := new(envelope)
		got := s.toProtocolError(withEnvelope(t.Context(), e), "x", tt.Err)
		f := server.Classify(t.Context(), tt.Err)
		known, ok := errors.AsType[*a2a.Error](got)
		if !ok || a2a.ErrorReason(known) == "" || strings.Contains(got.Error(), failuretest.Secret) || e.outage.Load() != f.Retry {
			t.Errorf("%s is %v, an outage: %v", tt.Name, got, e.outage.Load())
		}
		if (errors.Is(got, ownFault[0]) || errors.Is(got, ownFault[1])) != (f.Status >= http.StatusInternalServerError) {
			t.Errorf("%s with the status %d is %v", tt.Name, f.Status, got)
		}
	}
}
