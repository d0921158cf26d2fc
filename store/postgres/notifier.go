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

	"github.com/agentruntime/agentruntime/internal/wait"
)

const (
	// channel is the notification channel.
	channel = "agentruntime_turns"
	// collecting is how long ids are collected before sending. If the appending transactions
	// notified, their commits would wait for each other.
	collecting = 10 * time.Millisecond
	// maxPayload is the maximum size of a notification in bytes; PostgreSQL accepts less than
	// 8,000.
	maxPayload = 7900
	// silence is how long a listener receives nothing before it checks its connection.
	silence = 30 * time.Second
	// pollInterval is how often a listener that cannot listen is made to poll.
	pollInterval = time.Second
)

// Notifier is a dispatch.Notifier that uses PostgreSQL's NOTIFY.
type Notifier struct {
	pool   *pgxpool.Pool
	logger *zap.Logger
	// pooled reports whether listening is impossible.
	pooled bool
	// wake has a capacity of one because the sender takes all pending ids.
	wake chan struct{}

	mu      sync.Mutex
	pending map[string]struct{}

	ctx    context.Context // lifetime of the notifier
	cancel context.CancelFunc
	// live waits for the sender and the listeners.
	live sync.WaitGroup
}

func newNotifier(pool *pgxpool.Pool, logger *zap.Logger, pooled bool) *Notifier {
	n := &Notifier{pool: pool, logger: logger, pooled: pooled, wake: make(chan struct{}, 1), pending: make(map[string]struct{})}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.live.Go(n.sendPending)
	return n
}

// Notify announces a change of a turn. It never blocks.
func (n *Notifier) Notify(turnID string) {
	n.mu.Lock()
	n.pending[turnID] = struct{}{}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// sendPending sends the collected ids, at most once per collecting interval.
func (n *Notifier) sendPending() {
	pause := collecting
	for {
		select {
		case <-n.wake:
		case <-n.ctx.Done():
			return
		}
		if wait.For(n.ctx, pause) != nil {
			return
		}
		ids := n.takePending()
		if err := n.sendIDs(ids); err != nil {
			// The notifications are kept, one per turn, until the database is back.
			n.logger.Warn("notifying other processes failed", zap.Int("turns", len(ids)), zap.Error(err))
			for _, id := range ids {
				n.Notify(id)
			}
			pause = min(2*pause, longestPause)
			continue
		}
		pause = collecting
	}
}

func (n *Notifier) takePending() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	ids := make([]string, 0, len(n.pending))
	for id := range n.pending {
		ids = append(ids, id)
	}
	clear(n.pending)
	return ids
}

// sendIDs sends ids in as few notifications as possible.
func (n *Notifier) sendIDs(ids []string) error {
	ctx, cancel := context.WithTimeout(n.ctx, patience)
	defer cancel()
	_, err := n.pool.Exec(ctx, "SELECT pg_notify($1, payload) FROM unnest($2::text[]) payload", channel, splitPayloads(ids))
	if errorCode(err) != "" && !isDisconnected(err, nil) {
		n.logger.Error("notifications dropped", zap.Error(err)) // a retry would be rejected again
		return nil
	}
	return err
}

// splitPayloads writes ids as JSON lists of at most maxPayload bytes. It drops longer ids, which no
// turn has.
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

// Listen calls heard with the ids of changed turns until ctx ends or the store is closed, and
// returns the reason. It uses a separate connection. After losing it, and possibly notifications,
// it calls heard without ids. Through a pooler, which cannot listen, it does so every second.
func (n *Notifier) Listen(ctx context.Context, heard func(turnIDs []string)) error {
	if !n.addListener() {
		return ErrClosed
	}
	defer n.live.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	for n.pooled && wait.For(ctx, pollInterval) == nil {
		heard(nil)
	}
	pause := firstPause
	for interrupted := false; ; interrupted = true {
		listened, err := n.listenOnce(ctx, interrupted, heard)
		if n.ctx.Err() != nil {
			return ErrClosed
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.logger.Warn("listening for notifications failed", zap.Error(err))
		if listened {
			pause = firstPause
		}
		if wait.For(ctx, pause) != nil {
			continue // the next try says why it ends
		}
		pause = min(2*pause, longestPause)
	}
}

// listenOnce listens until its connection is lost, and reports whether it was connected.
func (n *Notifier) listenOnce(ctx context.Context, interrupted bool, heard func([]string)) (listened bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, n.pool.Config().ConnConfig)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, conn.Close(ctx))
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return false, fmt.Errorf("listen to the notifier: %w", err)
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

// waitNotification waits for a notification, and pings the server after a long silence.
func waitNotification(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	waiting, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	n, err := conn.WaitForNotification(waiting)
	switch {
	case err == nil:
		var ids []string
		if json.Unmarshal([]byte(n.Payload), &ids) != nil {
			return nil, nil // not one of ours
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

// addListener counts a listener, unless the notifier is closed.
func (n *Notifier) addListener() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		return false
	}
	n.live.Add(1)
	return true
}

// close ends the sender and the listeners.
func (n *Notifier) close() {
	n.mu.Lock()
	n.cancel()
	n.mu.Unlock()
	n.live.Wait()
}
