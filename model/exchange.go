package model

import "context"

// Exchange is one HTTP request to a vendor and the start of its response.
type Exchange struct {
	Method, URL string
	// Body is the body of the request. Keys are in headers, which are not included.
	Body []byte
	// Status and ContentType describe the response; zero if there was none.
	Status      int
	ContentType string
	// Failure is the reason why the request was rejected or could not be sent; nil if it was
	// accepted.
	Failure *Error
}

type exchangeKey struct{}

// WithExchanges returns a context with which executors report each of their HTTP requests,
// sequentially, before the events of its answer.
func WithExchanges(ctx context.Context, report func(*Exchange)) context.Context {
	return context.WithValue(ctx, exchangeKey{}, report)
}

// ExchangeReporter returns the function to which an executor reports its requests, or nil.
func ExchangeReporter(ctx context.Context) func(*Exchange) {
	report, _ := ctx.Value(exchangeKey{}).(func(*Exchange))
	return report
}
