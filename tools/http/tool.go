package http

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Kind returns the tool kind http.
func Kind() tools.Kind {
	return spec.NewKind("http", "A request to an HTTP service.", createTool).AsPure()
}

// tool makes requests. Each tool has a separate client, so that its connections are reused and
// allow_private does not apply to other tools.
type tool struct {
	descriptor tools.Descriptor
	program    *program
	// connection names the connection of the host to use for requests; empty if none.
	connection string
	client     *http.Client
	limit      int
}

var (
	_ tools.Tool           = (*tool)(nil)
	_ tools.TenantReferrer = (*tool)(nil)
)

// createTool returns the configured tool. It is pure: the first call opens the first connection.
func createTool(_ tools.Settings, c *config) (tools.Tool, error) {
	if err := c.Validate().Err(); err != nil {
		return nil, err
	}
	guard, err := netguard.New(c.AllowPrivate...)
	if err != nil {
		return nil, err
	}
	p, _ := c.compileProgram()
	return &tool{
		descriptor: tools.Descriptor{
			Description: c.Description,
			Parameters:  c.Parameters,
			Effect:      c.toolEffect(),
			Timeout:     tools.CallTimeout(c.Timeout),
			Serial:      c.Serial,
		},
		program: p, connection: c.HostConnection,
		client: newClient(guard, p),
		limit:  tools.OutputLimit(c.MaxOutput),
	}, nil
}

func newClient(guard *netguard.Guard, p *program) *http.Client {
	transport := netguard.Transport(guard)
	if p.effect == tools.Once && (p.method == http.MethodGet || p.method == http.MethodHead) {
		// On a reused connection, the client repeats these methods on its own when the server hangs
		// up.
		transport.DisableKeepAlives = true
	}
	return &http.Client{
		Transport: transport,
		// A redirect would carry headers and arguments to an address chosen by the server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Descriptor describes the tool as configured.
func (t *tool) Descriptor() tools.Descriptor { return t.descriptor }

// TenantReferences returns where the settings refer to variables of tenants.
func (t *tool) TenantReferences() []tools.TenantReference { return t.program.tenantReferences() }

// Call makes the request.
func (t *tool) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	bound, err := t.program.bindProgram(ctx, call.Tenant)
	if err != nil {
		return tools.Result{}, err
	}
	own := *t
	if own.program, err = bound.bindConnection(ctx, t.connection); err != nil {
		return tools.Result{}, err
	}
	return own.send(ctx, call)
}

// send makes the request with a tenant's program.
func (t *tool) send(ctx context.Context, call *tools.Call) (tools.Result, error) {
	req, err := t.program.buildRequest(ctx, call)
	if input, ok := errors.AsType[*inputError](err); ok {
		return tools.ErrorResult(input.Error()), nil
	}
	if err != nil {
		return tools.Result{}, err
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return tools.Result{}, t.withoutURL(ctx, err)
	}
	defer resp.Body.Close()
	result, err := t.toResult(resp)
	if err != nil {
		return tools.Result{}, t.withoutURL(ctx, err)
	}
	return result, nil
}

// withoutURL returns err without the URL that the HTTP client adds, whose arguments and query may
// contain secrets.
func (t *tool) withoutURL(ctx context.Context, err error) error {
	err = redact.WithoutURL(err)
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		plain := *lookup
		plain.Server = "" // the model need not know the network
		err = &plain
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	} else if t.program.address.origin != nil {
		return t.program.address.origin.hideOrigin(err)
	}
	if t.program.address.origin != nil {
		return fmt.Errorf("call %s: %w", t.program.address.origin.label, err)
	}
	return fmt.Errorf("call %s: %w", t.program.address.host, err)
}

// Close closes idle connections.
func (t *tool) Close() error {
	t.client.CloseIdleConnections()
	return nil
}
