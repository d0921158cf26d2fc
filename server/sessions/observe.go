package sessions

import (
	"context"
	"errors"
	"strconv"

	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
)

// failureType returns the error.type of an operation; empty if it did not fail.
func failureType(err error) string {
	if err == nil {
		return ""
	}
	if refused, ok := errors.AsType[*requestError](err); ok {
		if refused.code != "" {
			return refused.code
		}
		return strconv.Itoa(refused.status)
	}
	return server.Classify(context.Background(), err).Code
}

// askProvider asks something of the provider of the call, which it measures. The provider
// may be known only afterwards, and is unknown if what was asked for is not found.
func askProvider[T any](c *call, operation string, ask func(ctx context.Context) (T, error)) (T, error) {
	ctx, observed := c.operations.StartProvider(c.r.Context(), operation, c.provider)
	out, err := ask(ctx)
	observed.SetProvider(c.provider)
	observed.End(failureType(err))
	return out, err
}

// nameProvider records the provider that the call is about, for metrics and the audit log.
func (c *call) nameProvider(name string) {
	if c.provider == "" {
		c.provider = name
		server.NoteAudit(c.r.Context(), zap.String("provider", name))
	}
}
