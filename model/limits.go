package model

import "context"

// Limits are the limits that a server states for a model, in tokens; 0 for unknown.
type Limits struct {
	ContextWindow, MaxOutputTokens int
}

// LimitSource is implemented by executors whose servers may state the limits of models.
type LimitSource interface {
	// Limits asks the server for the limits of a model, unless they are known. Limits that it does
	// not state are 0.
	Limits(ctx context.Context, upstreamModel string) (Limits, error)
}
