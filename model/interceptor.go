package model

import (
	"context"
	"iter"
)

// Interceptor answers a model request instead of the provider's executor, or passes it to next.
type Interceptor func(ctx context.Context, next Executor, req *Request) iter.Seq2[Event, error]

type interceptorKey struct{}

// WithInterceptor returns a context whose turns, including delegates, send their model requests
// through an interceptor. Retries, pools and limits apply to its answers.
func WithInterceptor(ctx context.Context, i Interceptor) context.Context {
	return context.WithValue(ctx, interceptorKey{}, i)
}

// streamIntercepted calls an executor, or the interceptor of the context.
func streamIntercepted(ctx context.Context, next Executor, req *Request) iter.Seq2[Event, error] {
	if i, ok := ctx.Value(interceptorKey{}).(Interceptor); ok {
		return i(ctx, next, req)
	}
	return next.Stream(ctx, req)
}
