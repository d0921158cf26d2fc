package model

import "context"

// Limits are a model's limits as stated by a server, in tokens; 0 for unknown.
type Limits struct {
	ContextWindow, MaxOutputTokens int
}

// LimitSource is implemented by executors whose servers may state the limits of models.
type LimitSource interface {
	// Limits requests a model's limits from the server, unless they are known. Limits that it does
	// not state are 0.
	Limits(ctx context.Context, upstreamModel string) (Limits, error)
}
