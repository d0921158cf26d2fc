package river

import (
	"context"
	"sync"
	"time"
)

// notify notifies River's clients of jobs in the queue $1, as River does.
const notify = `pg_notify(concat(current_schema(), '.river_insert'), json_build_object('queue', $1::text)::text)`

// notifyTimeout bounds a notification sent on its own.
const notifyTimeout = 5 * time.Second

const (
	// ringQuiet is the time without inserts after which an insert notifies by itself.
	ringQuiet = 25 * time.Millisecond
	// ringFirst limits the time from an insert to its first echo, and ringLast the time between
	// two echoes, which doubles each time. Their sum is the time a transaction has to commit.
	ringFirst = 2 * time.Millisecond
	ringLast  = 80 * time.Millisecond
)

// ringer notifies replicas of new jobs. A notification is seen when its transaction commits, which
// is the right time, but all notifying transactions of a server commit one after the other. So an
// insert notifies only after a quiet period. Echoes, which are separate notifications, cover the
// inserts that follow; more inserts do not cause more echoes.
//
// River notifies with the first insert within its cooldown and does not make up for the others: the
// second of two jobs within a cooldown waits for the next poll.
type ringer struct {
	notify   func(ctx context.Context)
	cancel   context.CancelFunc
	ended    <-chan struct{}
	finished chan struct{}
	inserts  chan struct{} // holds a token when echoes are due

	mu     sync.Mutex
	latest time.Time // time of the latest insert
}

// newRinger returns a ringer with a goroutine that calls notify for echoes and ends on close.
func newRinger(notify func(ctx context.Context)) *ringer {
	ctx, cancel := context.WithCancel(context.Background())
	r := &ringer{
		notify: notify, cancel: cancel, ended: ctx.Done(),
		finished: make(chan struct{}), inserts: make(chan struct{}, 1),
	}
	go r.runEchoLoop(ctx)
	return r
}

// beforeInsert is called before each insert of due jobs. It reports whether the insert must notify;
// otherwise echoes follow.
func (r *ringer) beforeInsert() (notify bool) {
	select {
	case <-r.ended:
		return true
	default:
	}
	now := time.Now()
	r.mu.Lock()
	quiet := now.Sub(r.latest) >= ringQuiet
	r.latest = now
	r.mu.Unlock()
	if !quiet {
		r.requestEchoes()
	}
	return quiet
}

// requestEchoes asks for echoes.
func (r *ringer) requestEchoes() {
	select {
	case r.inserts <- struct{}{}:
	default:
	}
}

func (r *ringer) runEchoLoop(ctx context.Context) {
	defer close(r.finished)
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.inserts:
			r.runEchoes(ctx)
		}
	}
}

// runEchoes notifies until there has been no insert for so long that all are committed.
func (r *ringer) runEchoes(ctx context.Context) {
	pause, next := ringFirst, time.Now().Add(ringFirst)
	timer := time.NewTimer(ringFirst)
	defer timer.Stop()
	for pause <= ringLast {
		select {
		case <-ctx.Done():
			return
		case <-r.inserts:
			pause = ringFirst
			if soon := time.Now().Add(pause); soon.Before(next) {
				next = soon
				timer.Reset(pause)
			}
		case <-timer.C:
			r.notify(ctx)
			pause *= 2
			next = time.Now().Add(pause)
			timer.Reset(pause)
		}
	}
}

// close ends the echoes. Later inserts notify by themselves.
func (r *ringer) close() {
	r.cancel()
	<-r.finished
}
