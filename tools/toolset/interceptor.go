package toolset

import (
	"context"

	"github.com/agentruntime/agentruntime/tools"
)

// Interceptor answers a tool call itself or passes it on with entry.Tool.Call. The arguments match
// the tool's schema.
type Interceptor func(ctx context.Context, entry *Entry, call *tools.Call) (tools.Result, error)

type interceptorKey struct{}

// WithInterceptor returns a context whose turns, including their delegates, call tools through an
// interceptor. Gates decide on the calls first.
func WithInterceptor(ctx context.Context, i Interceptor) context.Context {
	return context.WithValue(ctx, interceptorKey{}, i)
}

// callTool calls the tool, or the interceptor of the context.
func (e *Entry) callTool(ctx context.Context, call *tools.Call) (tools.Result, error) {
	if i, ok := ctx.Value(interceptorKey{}).(Interceptor); ok {
		return i(ctx, e, call)
	}
	return e.Tool.Call(ctx, call)
}
