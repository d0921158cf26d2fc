package river

import (
	"context"
	"sync"
	"time"
)

const (
	// ringQuiet is the time without inserts after which one notifies itself.
	ringQuiet = 25 * time.Millisecond
	// ringFirst limits the time from an insert to its first echo, and ringLast the time between
	// two echoes, which doubles each time. Their sum is the time a transaction has to commit.
	ringFirst = 2 * time.Millisecond
	ringLast  = 80 * time.Millisecond
)

// ringer tells replicas of new jobs. A notification is seen with the commit of
// its transaction, which is just right, but such transactions of the whole
// server commit one after the other. So an insert notifies only where there was
// none for a while. Those that follow are made up for by echoes, notifications
// for themselves, which are no more where there are more inserts.
//
// River notifies with the first insert within its cooldown and makes up for
// nothing: of two jobs within it the second one waits for the next poll.
type ringer struct {
	notify   func(ctx context.Context)
	cancel   context.CancelFunc
	ended    <-chan struct{}
	finished chan struct{}
	inserts  chan struct{} // holds a token when there are to be echoes

	mu     sync.Mutex
	latest time.Time // when the latest insert was
}

// newRinger returns a ringer with a goroutine, which calls notify for echoes and
// which close ends.
func newRinger(notify func(ctx context.Context)) *ringer {
	ctx, cancel := context.WithCancel(context.Background())
	r := &ringer{
		notify: notify, cancel: cancel, ended: ctx.Done(),
		finished: make(chan struct{}), inserts: make(chan struct{}, 1),
	}
	go r.runEchoLoop(ctx)
	return r
}

// beforeInsert is called before each insert of jobs that are due. It reports
// whether the insert is to notify; otherwise there will be echoes.
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

// runEchoes notifies until there was no insert for so long that all are committed.
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
