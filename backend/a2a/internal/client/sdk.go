package client

import (
	"context"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"github.com/agentruntime/agentruntime/internal/a2awire"
)

// newSDKClient returns an SDK client for the chosen interface. It does not pass on the tenant of
// an inbound call: the peer receives the tenant named in its card.
func newSDKClient(ctx context.Context, requests *transport, calls *grpcConnections, card *a2a.AgentCard, to *Chosen, extension bool) (*a2aclient.Client, error) {
	client := &http.Client{
		Transport:     requests,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return a2aclient.NewFromCard(ctx, card,
		a2aclient.WithDefaultsDisabled(),
		a2aclient.WithConfig(a2aclient.Config{DisableTenantPropagation: true}),
		a2aclient.WithCallInterceptors(&interceptor{extension: extension}),
		a2aclient.WithJSONRPCTransport(client),
		a2aclient.WithRESTTransport(client),
		a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: client}),
		a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: client}),
		calls.transportTo(to.URL),
	)
}

// interceptor marks calls that are answered only when the work is done, and names the extension
// that they may use.
type interceptor struct {
	a2aclient.PassthroughInterceptor
	extension bool
}

var _ a2aclient.CallInterceptor = (*interceptor)(nil)

// Before is called before each call.
func (i *interceptor) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	if i.extension {
		req.ServiceParams.Append(a2a.SvcParamExtensions, a2awire.Extension)
	}
	switch req.Method {
	case "SendMessage", "SendStreamingMessage": // without streaming, the latter becomes the former
		ctx = context.WithValue(ctx, slowKey{}, true)
	}
	return ctx, nil, nil
}
