// Package schedule creates turns when they are due.
package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/cron"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/google/uuid"
	"go.uber.org/zap"
)

// Schedule creates a turn whenever it is due. Several processes may have the same schedule: each
// due time gives one turn. Times that were due while no process ran are skipped.
type Schedule struct {
	// ID is the schedule's id; its turns have it in their metadata.
	ID string
	// Cron gives the times, in five fields, or as @hourly, @daily, @every 10m and the like.
	Cron string
	// TimeZone is an IANA name; empty means UTC.
	TimeZone string
	AgentID  string
	// Input is the input of each turn.
	Input []model.Message
	// SessionID is the session of all its turns, which is created if it does not
	// exist; if empty, each turn gets its own.
	SessionID string
	// Owner owns the sessions and turns.
	Owner service.Caller
}

// Turns creates sessions and turns. *service.Service implements it.
type Turns interface {
	CreateSession(ctx context.Context, caller service.Caller, req service.CreateSession) (*store.Session, error)
	GetSession(ctx context.Context, caller service.Caller, id string) (*store.Session, error)
	CreateTurn(ctx context.Context, caller service.Caller, req service.CreateTurn) (*service.Turn, error)
}

// Settings configures a Runner. Turns is required.
type Settings struct {
	Turns     Turns
	Schedules []Schedule
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
	// Logger receives the errors of schedules; nil drops them.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Runner runs schedules until it is closed, with one goroutine per schedule.
type Runner struct {
	settings Settings
	clocks   []*clock
	ctx      context.Context
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
}

// NewRunner returns a runner. It does nothing before Start. The error names the schedules with
// invalid times.
func NewRunner(s Settings) (*Runner, error) {
	if s.Clock == nil {
		s.Clock = time.Now
	}
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	r := &Runner{settings: s}
	var errs []error
	for i := range s.Schedules {
		one := s.Schedules[i]
		times, err := cron.Parse(one.Cron, one.TimeZone)
		if err != nil {
			errs = append(errs, fmt.Errorf("schedule %s: %w", one.ID, err))
		}
		r.clocks = append(r.clocks, &clock{one, times})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// Start starts the schedules.
func (r *Runner) Start() {
	for _, c := range r.clocks {
		r.tasks.Go(func() { r.runClock(c) })
	}
}

// Close creates no more turns and waits for those being created. It may be called more than once.
func (r *Runner) Close() {
	r.cancel()
	r.tasks.Wait()
}

// clock is a schedule with its parsed times.
type clock struct {
	Schedule
	times *cron.Times
}

// runClock creates the turns of a schedule until the runner is closed.
func (r *Runner) runClock(c *clock) {
	for {
		now := r.settings.Clock()
		due := c.times.Next(now)
		if due.IsZero() {
			return
		}
		timer := time.NewTimer(due.Sub(now))
		select {
		case <-timer.C:
		case <-r.ctx.Done():
			timer.Stop()
			return
		}
		if err := c.createTurn(r.ctx, r.settings.Turns, due); err != nil && r.ctx.Err() == nil {
			r.settings.Logger.Error("creating scheduled turn failed", zap.String("schedule", c.ID), zap.Time("due", due), zap.Error(err))
		}
	}
}

// createTurn creates the turn of a due time. Its keys guarantee a single turn, even if other
// processes also create it.
func (c *clock) createTurn(ctx context.Context, turns Turns, due time.Time) error {
	at := due.UTC().Format(time.RFC3339)
	key := "schedule/" + c.ID + "/" + at
	session := service.CreateSession{ID: c.SessionID, AgentID: c.AgentID, IdempotencyKey: "schedule/" + c.ID, Labels: map[string]string{"schedule": c.ID}}
	if c.SessionID == "" {
		session.ID, session.IdempotencyKey = uuid.NewSHA1(uuid.NameSpaceURL, []byte(key)).String(), key
	}
	made, err := turns.CreateSession(ctx, c.Owner, session)
	if err != nil {
		if made, err = turns.GetSession(ctx, c.Owner, session.ID); err != nil {
			return err
		}
	}
	metadata, err := json.Marshal(map[string]string{"schedule": c.ID, "due": at})
	if err != nil {
		return err
	}
	_, err = turns.CreateTurn(ctx, c.Owner, service.CreateTurn{
		SessionID: made.ID, AgentID: c.AgentID, Addressed: true, Input: c.Input, Metadata: metadata, Background: true, IdempotencyKey: key,
	})
	return err
}
