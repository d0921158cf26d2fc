package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider/internal/pool"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// cancelTimeout limits how long ending a turn at its provider may take.
const cancelTimeout = 5 * time.Second

// createPatience is how long the end of a turn waits for its creation.
const createPatience = time.Second

// endTurn ends the turn at the provider, unless it has ended, and revokes its access to tools.
func (d *drive) endTurn(ctx context.Context, why error) {
	if d.at.TurnID == "" {
		return
	}
	host := d.hosted.provider.host
	host.service.CloseTurn(d.at.TurnID)
	defer host.requests.endTurn(d.at.TurnID)
	if !d.at.Live {
		return
	}
	reason := "the turn has ended"
	if why != nil {
		reason = why.Error()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	p := d.process.current()
	if p == nil {
		return
	}
	if err := host.cancelTurn(ctx, p.Instance, &d.at, reason); err != nil {
		d.hosted.provider.logger.Warn("cancel of the provider's turn failed", "turn", d.job.TurnID, "error", err)
	}
}

// cancelTurn ends a turn at the provider.
func (p *provider) cancelTurn(ctx context.Context, at *position, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	lease, err := p.acquire(ctx, at.SessionID, false)
	if err != nil {
		return err
	}
	defer lease.Release()
	return p.host.cancelTurn(ctx, lease.Instance, at, reason)
}

// cancelTurn ends a turn that can no longer call tools. A turn that is still being created is
// canceled once the provider knows it.
func (h *host) cancelTurn(ctx context.Context, i *pool.Instance, at *position, reason string) error {
	known, err := cancelTurn(ctx, i, at, reason)
	e := h.requests.find(at.TurnID, createKey)
	if known || err != nil || e == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, createPatience)
	defer cancel()
	select {
	case <-e.done:
	case <-i.Lost():
		return nil
	case <-ctx.Done():
		return errors.New("cancel the turn: the provider is still creating it")
	}
	if e.err == nil {
		_, err = cancelTurn(ctx, i, at, reason)
	}
	return err
}

// cancelTurn cancels a turn at a provider. known is false for a turn that the provider does not
// know.
func cancelTurn(ctx context.Context, i *pool.Instance, at *position, reason string) (known bool, err error) {
	select {
	case <-i.Lost():
		return true, nil
	default:
	}
	turn, err := i.CancelTurn(ctx, &providerproto.CancelAgentProviderTurnRequest{TurnId: at.TurnID, Reason: reason, Subject: subjectOf(at)})
	switch {
	case status.Code(err) == codes.NotFound:
		return false, nil
	case err != nil:
		return true, fmt.Errorf("cancel the turn: %w", err)
	case isLive(turn.GetStatus()):
		return true, fmt.Errorf("cancel the turn: the provider answers that it is %s", turn.GetStatus())
	}
	return true, nil
}

// isLive reports whether a turn is still running.
func isLive(s providerproto.AgentExecutionStatus) bool {
	switch s {
	case providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_PENDING,
		providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_RUNNING,
		providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_WAITING_FOR_INPUT:
		return true
	default:
		return false
	}
}
