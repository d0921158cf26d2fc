package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
)

// limitsTimeout bounds the requests for the limits of a model.
const limitsTimeout = 10 * time.Second

// discoverLimits queries model servers for limits, and warns of servers that cannot be queried.
func (l *loaded) discoverLimits(ctx context.Context, p *program) {
	ctx, cancel := context.WithTimeout(ctx, limitsTimeout)
	defer cancel()
	if err := l.builder.DiscoverLimits(ctx); err != nil {
		p.PrintErrorf("warning: %s", l.file.Redact(strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
}

// checkLimits compares the server's limits with the configured ones. Servers without limits are
// common and not reported.
func (x *providerCheck) checkLimits(ctx context.Context, source model.LimitSource) {
	ctx, cancel := context.WithTimeout(ctx, limitsTimeout)
	defer cancel()
	stated, err := source.Limits(ctx, x.model.UpstreamModel)
	if err != nil {
		return
	}
	x.compareLimit("context_window", stated.ContextWindow, x.model.ContextWindow)
	x.compareLimit("max_output_tokens", stated.MaxOutputTokens, x.model.MaxOutputTokens)
}

// compareLimit adds a warning if the configured limit exceeds the server's.
func (x *providerCheck) compareLimit(field string, stated int, configured *int) {
	switch {
	case stated == 0:
	case configured == nil:
		x.add(field, backend.OutcomeOK, fmt.Sprintf("the server states %d, which turns use", stated), "")
	case *configured > stated:
		path := x.loaded.file.DecidedPath(diag.Key("models", x.model.ID)) + "." + field
		x.add(field, backend.OutcomeWarning, fmt.Sprintf("the server states %d, less than the %d of the configuration", stated, *configured), fmt.Sprintf("%s: %d", path, stated))
	default:
		x.add(field, backend.OutcomeOK, fmt.Sprintf("the server states %d; the configuration has %d", stated, *configured), "")
	}
}
