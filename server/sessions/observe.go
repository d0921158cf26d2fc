package sessions

import (
	"cmp"
	"context"
	"strconv"

	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
)

// failureType returns the error.type of an operation; empty if it did not fail.
func failureType(err error) string {
	if err == nil {
		return ""
	}
	f := server.Classify(context.Background(), err)
	return cmp.Or(f.Code, strconv.Itoa(f.Status))
}

// askProvider measures an operation of the call's provider. The provider may become known only
// during the operation, and stays unknown if the requested record is not found.
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
