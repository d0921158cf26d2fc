package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"
)

const (
	// channel is what is notified and listened to.
	channel = "agentruntime_turns"
	// collecting is for how long rings are collected. A notification within
	// the transactions that append would make their commits wait for each other.
	collecting = 10 * time.Millisecond
	// maxPayload is how many bytes one notification takes; PostgreSQL takes less
	// than 8,000.
	maxPayload = 7900
	// silence is how long a listener hears nothing before it checks its
	// connection.
	silence = 30 * time.Second
	// pollInterval is how often a listener is told to look where it cannot listen.
	pollInterval = time.Second
)

// Bell tells every process that uses the database of turns to which something
// happened. It is a dispatch.Bell.
type Bell struct {
	pool   *pgxpool.Pool
	logger *zap.Logger
	// pooled is set if nothing can listen.
	pooled bool
	// wake has room for one: the ringer looks for all rings there are.
	wake chan struct{}

	mu   sync.Mutex
	rung map[string]struct{}

	ctx    context.Context // the life of the bell
	cancel context.CancelFunc
	// live are the ringer and the listeners.
	live sync.WaitGroup
}

func newBell(pool *pgxpool.Pool, logger *zap.Logger, pooled bool) *Bell {
	b := &Bell{pool: pool, logger: logger, pooled: pooled, wake: make(chan struct{}, 1), rung: make(map[string]struct{})}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.live.Go(b.notifyRung)
	return b
}

// Ring reports that something happened to a turn. It never waits.
func (b *Bell) Ring(turnID string) {
	b.mu.Lock()
	b.rung[turnID] = struct{}{}
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// notifyRung notifies of what was rung for, at most once in the time of collecting.
func (b *Bell) notifyRung() {
	pause := collecting
	for {
		select {
		case <-b.wake:
		case <-b.ctx.Done():
			return
		}
		if !waitFor(b.ctx, pause) {
			return
		}
		ids := b.takeRung()
		if err := b.sendIDs(ids); err != nil {
			// The rings are kept, once for each turn, until the database is back.
			b.logger.Warn("notifying other processes failed", zap.Int("turns", len(ids)), zap.Error(err))
			for _, id := range ids {
				b.Ring(id)
			}
			pause = min(2*pause, longestPause)
			continue
		}
		pause = collecting
	}
}

func (b *Bell) takeRung() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := make([]string, 0, len(b.rung))
	for id := range b.rung {
		ids = append(ids, id)
	}
	clear(b.rung)
	return ids
}

// sendIDs sends ids, in as few notifications as they fit in.
func (b *Bell) sendIDs(ids []string) error {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_, err := b.pool.Exec(ctx, "SELECT pg_notify($1, payload) FROM unnest($2::text[]) payload", channel, splitPayloads(ids))
	if errorCode(err) != "" && !isDisconnected(err, nil) {
		b.logger.Error("notifications dropped", zap.Error(err)) // the same would be refused again
		return nil
	}
	return err
}

// splitPayloads writes ids as JSON lists of at most maxPayload bytes. An id that is
// longer than that is nobody's.
func splitPayloads(ids []string) (list []string) {
	text := []byte{'['}
	for _, id := range ids {
		item, err := json.Marshal(id)
		if err != nil || len(item)+len("[]") > maxPayload {
			continue
		}
		if len(text)+len(item)+len(",]") > maxPayload {
			list = append(list, string(append(text, ']')))
			text = []byte{'['}
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(text, item...)
	}
	if len(text) > 1 {
		list = append(list, string(append(text, ']')))
	}
	return list
}

// Listen calls heard with the ids of turns that somebody rang for, until ctx
// ends or the store is closed, and returns which. It uses a connection of its
// own. When that was lost, and rings with it, it calls heard with no ids once it
// listens again. Through a pooler, which cannot listen, it does so every second.
func (b *Bell) Listen(ctx context.Context, heard func(turnIDs []string)) error {
	if !b.addListener() {
		return ErrClosed
	}
	defer b.live.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	for b.pooled && waitFor(ctx, pollInterval) {
		heard(nil)
	}
	pause := firstPause
	for interrupted := false; ; interrupted = true {
		listened, err := b.listenOnce(ctx, interrupted, heard)
		if b.ctx.Err() != nil {
			return ErrClosed
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.logger.Warn("listening for notifications failed", zap.Error(err))
		if listened {
			pause = firstPause
		}
		if !waitFor(ctx, pause) {
			continue // the next try says why it ends
		}
		pause = min(2*pause, longestPause)
	}
}

// listenOnce hears what is rung until its connection is lost, and reports whether it
// had one.
func (b *Bell) listenOnce(ctx context.Context, interrupted bool, heard func([]string)) (listened bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, b.pool.Config().ConnConfig)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, conn.Close(ctx))
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return false, fmt.Errorf("listen to the bell: %w", err)
	}
	if interrupted {
		heard(nil)
	}
	for {
		ids, err := waitNotification(ctx, conn)
		if err != nil {
			return true, err
		}
		if len(ids) > 0 {
			heard(ids)
		}
	}
}

// waitNotification waits for a notification, and in a long silence for a sign of life.
func waitNotification(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	waiting, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	n, err := conn.WaitForNotification(waiting)
	switch {
	case err == nil:
		var ids []string
		if json.Unmarshal([]byte(n.Payload), &ids) != nil {
			return nil, nil // it is not one of ours
		}
		return ids, nil
	case ctx.Err() == nil && waiting.Err() != nil && !conn.IsClosed():
		alive, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return nil, conn.Ping(alive)
	default:
		return nil, err
	}
}

// addListener counts a listener, unless the bell has ended.
func (b *Bell) addListener() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return false
	}
	b.live.Add(1)
	return true
}

// close ends the ringer and the listeners.
func (b *Bell) close() {
	b.mu.Lock()
	b.cancel()
	b.mu.Unlock()
	b.live.Wait()
}
