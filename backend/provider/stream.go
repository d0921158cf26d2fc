package provider

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider/internal/hostservice"
	"github.com/agentruntime/agentruntime/model"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Stream continues the provider with the messages of the request or the results of its calls,
// until it calls tools or its turn ends.
func (d *drive) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		d.said = saying{yield: yield}
		err := d.proceed(ctx, req)
		if errors.Is(err, errBusy) {
			err = d.passCalls()
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(model.Event{}, err)
		}
	}
}

// proceed starts or resumes the turn at the provider and follows it.
func (d *drive) proceed(ctx context.Context, req *model.Request) error {
	if err := d.attach(ctx); err != nil {
		return err
	}
	if d.at.Live {
		if err := d.resumeTurn(ctx, req); err != nil {
			return err
		}
	} else if err := d.beginTurn(ctx, req); err != nil {
		return err
	}
	return d.followTurn(ctx)
}

// resumeTurn continues the turn at the provider. If the runtime ended while creating it, the turn
// is created now if the provider keeps its turns and does not know it.
func (d *drive) resumeTurn(ctx context.Context, req *model.Request) error {
	if err := d.openCalls(); err != nil {
		return err
	}
	d.deliverResults(req)
	if d.creation != nil {
		d.creation.seen = time.Now()
	}
	if d.met {
		return nil
	}
	sent := *req
	if n := d.at.Messages; n > 0 && n < len(req.Messages) {
		sent.Messages = req.Messages[:n]
	}
	if d.findCreation(&sent) || d.at.Seq > 0 || !d.process.current().Capabilities.GetResumableTurns() {
		d.met = true
		return nil
	}
	_, err := d.getTurn(ctx)
	if errors.Is(err, errBusy) {
		return err
	}
	d.met = true
	if status.Code(err) != codes.NotFound {
		return nil // following the turn reveals other errors
	}
	d.at.Grant = hostservice.HashGrant(d.calls.Grant)
	if err := d.keepPosition(ctx); err != nil {
		return err
	}
	return d.startCreation(ctx, &sent, d.knowsSession(), false)
}

// beginTurn creates the next turn at the provider.
func (d *drive) beginTurn(ctx context.Context, req *model.Request) error {
	can := d.process.current().Capabilities
	if err := d.hosted.provider.checkCapabilities(can, d.needs(req)); err != nil {
		return &TurnError{Code: CodeCapability, Detail: err.Error(), Err: err}
	}
	again := d.at.Number > 0
	d.at.Number++
	d.at.TurnID, d.at.Seq, d.at.Live, d.at.Grant = turnIDFor(d.job.TurnID, d.at.Number), 0, true, ""
	d.at.Messages = len(req.Messages)
	d.met = true
	clear(d.known)
	if err := d.openCalls(); err != nil {
		return err
	}
	d.at.Grant = hostservice.HashGrant(d.calls.Grant)
	if err := d.keepPosition(ctx); err != nil {
		return err
	}
	return d.startCreation(ctx, req, again || d.knowsSession(), again)
}
