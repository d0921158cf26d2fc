package admin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

func TestAFailureOfTheStoreIsNotOneOfTheToolServer(t *testing.T) {
	t.Parallel()
	secret := errors.New("connection to 10.1.2.3 lost")
	for name, tt := range map[string]struct {
		err    error
		status int
	}{
		"the store is down":      {fmt.Errorf("mcp server x: %w: %w: %w", service.ErrLoginStore, service.ErrUnavailable, secret), http.StatusServiceUnavailable},
		"the store is read-only": {fmt.Errorf("%w: %w", service.ErrLoginStore, service.ErrNotWritable), http.StatusServiceUnavailable},
		"the store fails":        {fmt.Errorf("%w: %w", service.ErrLoginStore, secret), http.StatusInternalServerError},
		"the tool server fails":  {errors.New("its metadata cannot be used"), http.StatusBadGateway},
	} {
		f := server.Classify(t.Context(), loginFailure(tt.err))
		if f.Status != tt.status || strings.Contains(f.Message, "10.1.2.3") {
			t.Errorf("%s: %d %s", name, f.Status, f.Message)
		}
	}
}
