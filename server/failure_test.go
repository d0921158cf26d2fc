package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/failuretest"
	"github.com/agentruntime/agentruntime/server"
)

func TestEveryErrorHasOneClass(t *testing.T) {
	t.Parallel()
	seen := map[server.Class]bool{server.ClassGone: true, server.ClassDraining: true}
	for _, c := range failuretest.All() {
		f := server.Classify(t.Context(), c.Err)
		seen[f.Class] = true
		if f.Class != c.Class || f.Status < 400 || f.Code == "" || f.Message == "" || strings.Contains(f.Message, failuretest.Secret) || f.Retry != (f.Status == http.StatusServiceUnavailable) {
			t.Errorf("%s is %+v", c.Name, f)
		}
	}
	for class := range server.ClassLimit + 1 {
		if !seen[class] {
			t.Errorf("no error has the class %d", class)
		}
	}
}

func TestWhatEndsARequestIsItsFailure(t *testing.T) {
	t.Parallel()
	ending := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		return ctx
	}
	if f := server.Classify(ending(server.ErrDraining), context.Canceled); f.Class != server.ClassDraining || !f.Retry || f.Message != server.ErrDraining.Error() {
		t.Errorf("the end of the server is %+v", f)
	}
	if f := server.Classify(ending(nil), context.Canceled); f.Class != server.ClassGone || f.Retry {
		t.Errorf("the end of the client is %+v", f)
	}
}
