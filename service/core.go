package service

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/service/internal/follow"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"go.uber.org/zap"
)

// core is shared by all parts of a service.
type core struct {
	settings Settings

	hub     *follow.Hub
	pool    *work.Pool
	courier *webhook.Courier
	// box seals secrets; nil without a key. badKey is the error of an invalid key.
	box    *sealed.Box
	badKey error
	// started is true once the service runs turns.
	started atomic.Bool
	// ctx ends when the service is closed.
	ctx context.Context
}

// now returns the time with the precision of the store.
func (c *core) now() time.Time { return c.settings.Clock().UTC().Truncate(time.Microsecond) }

// announceTurn notifies all followers of a turn, here and in other processes, of a change.
func (c *core) announceTurn(turnID string) {
	f := feed{c.hub, c.settings.Notifier, c.settings.OnChange}
	f.Look(turnID)
	f.Notify(turnID)
	f.tellChange(turnID)
}

// logError logs an error unless the service is closing.
func (c *core) logError(ctx context.Context, text string, err error, fields ...zap.Field) {
	if ctx.Err() == nil || c.ctx.Err() == nil {
		c.settings.Logger.Error(text, append(fields, zap.Error(err))...)
	}
}

// feed passes changes of turns to their followers.
type feed struct {
	*follow.Hub
	notifier dispatch.Notifier
	// changed is notified of turns that ended or wait; it may be nil.
	changed func(turnID string)
}

// Publish passes on committed events.
func (f feed) Publish(turnID string, records []event.Record) {
	f.Hub.Publish(turnID, records)
	if last := &records[len(records)-1]; last.Terminal() || last.Type == event.TypeInteractionRequest && len(last.Path) == 0 {
		f.tellChange(turnID)
	}
}

func (f feed) tellChange(turnID string) {
	if f.changed != nil {
		f.changed(turnID)
	}
}

// Notify notifies the followers of a turn in other processes of a change.
func (f feed) Notify(turnID string) {
	if f.notifier != nil {
		f.notifier.Notify(turnID)
	}
}
