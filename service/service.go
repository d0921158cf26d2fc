package service

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service/internal/follow"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"go.uber.org/zap"
)

// Service runs turns that are kept in a store: a turn outlives its caller, the
// process and the machine. It is safe for concurrent use. Several processes may
// serve one store where the store allows it.
type Service struct {
	settings Settings

	hub     *follow.Hub
	pool    *work.Pool
	courier *webhook.Courier
	// box seals secrets; nil without a key. badKey is the error of an invalid key.
	box     *sealed.Box
	badKey  error
	started atomic.Bool
	// ctx ends when the service is closed; the goroutines in tasks then do.
	ctx    context.Context
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup
}

// Runtime returns what runs the turns; nil for a service that only looks.
func (s *Service) Runtime() *runtime.AgentRuntime { return s.settings.Runtime }

// Worker returns the name of this process among those that use the store.
func (s *Service) Worker() string { return s.settings.Worker }

// NewID returns a new id of the kind that the service gives to what it makes.
func (s *Service) NewID() string { return s.settings.NewID() }

// Now returns the service's time.
func (s *Service) Now() time.Time { return s.now() }

// now returns the time as the store keeps it.
func (s *Service) now() time.Time { return s.settings.Clock().UTC().Truncate(time.Microsecond) }

// announceTurn tells everybody who follows a turn, here and elsewhere, that something
// happened to it.
func (s *Service) announceTurn(turnID string) {
	f := feed{s.hub, s.settings.Bell, s.settings.OnChange}
	f.Look(turnID)
	f.Ring(turnID)
	f.tellChange(turnID)
}

// logError logs an error, unless the service is being closed.
func (s *Service) logError(ctx context.Context, text string, err error, fields ...zap.Field) {
	if ctx.Err() == nil || s.ctx.Err() == nil {
		s.settings.Logger.Error(text, append(fields, zap.Error(err))...)
	}
}

// feed shows what happens to turns to those who follow them.
type feed struct {
	*follow.Hub
	bell dispatch.Bell
	// changed is told of turns that ended, or wait; nil for nobody.
	changed func(turnID string)
}

// Publish passes on events that were committed.
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

// Ring tells everybody who follows a turn in another process that something happened
// to it.
func (f feed) Ring(turnID string) {
	if f.bell != nil {
		f.bell.Ring(turnID)
	}
}
