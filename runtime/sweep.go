package runtime

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

const (
	// sweepInterval is how often dead workers and overdue interactions are looked
	// for.
	sweepInterval = time.Second
	pruneInterval = time.Hour
	// remindInterval is how often pending turns are looked at whose jobs may be
	// lost, remindPage how many at a time, and overlooked how long they have been
	// pending by then.
	remindInterval = 5 * time.Second
	remindPage     = 100
	overlooked     = 5 * time.Second
)

// sweep gives a sign of life, takes turns from workers that gave none, and does
// what is overdue. The order matters when the clock jumps, or the process was
// frozen: its own turns are not dead.
func (s *Service) sweep(ctx context.Context) {
	s.beat(ctx)
	reaped, err := s.Store.Reap(ctx, s.now())
	if err != nil {
		s.complain(ctx, "dead workers cannot be looked for", err)
	}
	if reaped > 0 {
		s.Logger.Warn("took turns from workers that gave no sign of life", zap.Int("turns", reaped))
	}
	s.expireInteractions(ctx)
}

// beat tells the store that this process is alive, and stops working on turns
// that it does not own any more.
func (s *Service) beat(ctx context.Context) {
	s.running.Lock()
	held := make([]store.Held, 0, len(s.running.turns))
	for _, w := range s.running.turns {
		held = append(held, store.Held{TurnID: w.turn.ID, Fence: w.turn.Fence})
	}
	s.running.Unlock()
	if len(held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.Lease)
	defer cancel()
	lost, err := s.Store.Heartbeat(ctx, s.Worker, s.Lease, held)
	if err != nil {
		s.complain(ctx, "no sign of life could be given", err)
		return
	}
	for _, id := range lost {
		if w := s.worker(id); w != nil {
			w.lost()
		}
	}
}

// prune deletes what is too old, a part at a time.
func (s *Service) prune(ctx context.Context) {
	for ctx.Err() == nil {
		r := s.Retention
		r.Now = s.now()
		pruned, err := s.Store.Prune(ctx, r)
		if err != nil {
			s.complain(ctx, "what is too old cannot be deleted", err)
			return
		}
		if pruned == (store.Pruned{}) {
			return
		}
		s.Logger.Info("deleted what is too old", zap.Int("sessions", pruned.Sessions), zap.Int("turns", pruned.Turns), zap.Int("keys", pruned.Keys))
	}
}

// reminder queues jobs again for turns that nobody claims: a job is lost when the
// process that took it dies before the claim, or never hears that it took it. It
// looks at one page of pending turns at a time, so that a long queue costs no
// more than a short one; a job too many is harmless.
type reminder struct {
	service *Service
	next    string
}

func (r *reminder) remind(ctx context.Context) {
	s := r.service
	page, err := s.Store.Turns(ctx, store.TurnQuery{
		Scope: store.Everything, Statuses: []store.Status{store.Pending}, Page: store.Page{After: r.next, Limit: remindPage},
	})
	if err != nil {
		s.complain(ctx, "turns that nobody claims cannot be looked for", err)
		return
	}
	r.next = page.Next
	var jobs []store.Job
	for _, t := range page.Turns {
		if t.Admitted && s.now().Sub(t.UpdatedAt) > overlooked {
			jobs = append(jobs, store.Job{TurnID: t.ID})
		}
	}
	if len(jobs) == 0 || s.draining.Load() {
		return
	}
	if err := s.Dispatcher.Enqueue(ctx, nil, jobs); err != nil {
		s.complain(ctx, "turns that nobody claims cannot be queued", err, zap.Int("turns", len(jobs)))
	}
}

// complain logs an error, unless the service is being closed.
func (s *Service) complain(ctx context.Context, text string, err error, fields ...zap.Field) {
	if ctx.Err() == nil || s.ctx.Err() == nil {
		s.Logger.Error(text, append(fields, zap.Error(err))...)
	}
}
