package http

import (
	"context"

	"github.com/agentruntime/agentruntime/internal/connection"
)

// bindConnection returns the program with the headers of a connection of the host, which are
// secrets; it returns the program itself for an empty name.
func (p *program) bindConnection(ctx context.Context, name string) (*program, error) {
	if name == "" {
		return p, nil
	}
	found, err := connection.Resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	bound := *p
	bound.connection = found
	texts := found.Secrets()
	for _, known := range p.secrets {
		texts = append(texts, string(known))
	}
	bound.secrets = longestFirst(texts)
	return &bound, nil
}
