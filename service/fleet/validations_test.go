package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/tools"
	mcptool "github.com/agentruntime/agentruntime/tools/mcp"
)

// A tenant checks one overlay at a time. A check that waits for the tenant's own server blocks no
// other tenant, and a canceled check ends.
func TestTenantsProveOneOverlayAtATime(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 9), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	p := program{store: newStore(t), fromStore: true, exec: answersDone(), dir: t.TempDir(), tools: []tools.Kind{mcptool.Kind()}}
	one := p.start(t, strings.Replace(tenantBase, "may: {", `may: {kinds: [mcp], allow_private: ["127.0.0.1"], `, 1))
	slow := []byte(fmt.Sprintf(`{"version":1,"tools":{"slow":{"type":"mcp","url":%q}}}`, server.URL))
	validate := func(ctx context.Context, tenant string, document []byte) chan error {
		ended := make(chan error, 1)
		go func() {
			_, _, err := one.fleet.Tenant(tenant).Validate(ctx, document)
			ended <- err
		}()
		return ended
	}
	first, cancel := context.WithCancel(t.Context())
	defer cancel()
	held := validate(first, "acme", slow)
	<-asked
	second, cancelSecond := context.WithCancel(t.Context())
	waits := validate(second, "acme", []byte(overlayOf("second")))
	if err := <-validate(t.Context(), "other", []byte(overlayOf("other"))); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	select {
	case err := <-waits:
		t.Errorf("the second one did not wait: %v", err)
	default:
	}
	cancelSecond()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("the second one ends with %v", err)
	}
	cancel()
	if err := <-held; !errors.Is(err, context.Canceled) {
		t.Errorf("the first one ends with %v", err)
	}
	close(answer)
	if err := <-validate(t.Context(), "acme", []byte(overlayOf("third"))); err != nil {
		t.Errorf("the tenant after that: %v", err)
	}
}

func TestACanceledValidationProvesNothing(t *testing.T) {
	t.Parallel()
	p := program{store: newStore(t), fromStore: true, exec: answersDone()}
	one := p.start(t, tenantBase)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := one.fleet.Tenant("acme").Publish(ctx, &fleet.Change{Document: []byte(overlayOf("x"))}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
