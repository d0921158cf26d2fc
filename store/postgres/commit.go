package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/agentruntime/agentruntime/store"
)

const (
	// maxGroup is how many commits share a transaction, and maxGroupBytes limits their total size.
	maxGroup      = 512
	maxGroupBytes = 8 << 20
)

// Commit appends to a turn and changes its state. It waits for a transaction shared with commits of
// other turns. After a lost connection it retries for ten seconds; a commit happens once or not at
// all.
//
// It returns early if ctx ends before its transaction has begun. After that it waits until the
// outcome of the commit is certain.
func (s *Store) Commit(ctx context.Context, c *store.Commit) error {
	if err := c.CheckText(); err != nil {
		return err
	}
	if err := s.commits.awaitCommit(ctx, c); err != nil {
		return wrapError("commit to turn", c.TurnID, err)
	}
	return nil
}

// pending is a commit that waits for its transaction.
type pending struct {
	*store.Commit
	ctx context.Context // of the waiting caller
	// taken reports whether the writer has the commit, which can then not be withdrawn.
	taken bool
	done  chan error
}

// approximateSize returns the approximate size of the commit.
func (p *pending) approximateSize() int {
	n := len(p.State)
	for i := range p.Events {
		n += len(p.Events[i].Data)
	}
	for _, m := range p.Messages {
		n += len(m)
	}
	for i := range p.Journal {
		n += len(p.Journal[i].Entry) + len(p.Journal[i].Result)
	}
	for _, a := range p.Artifacts {
		n += len(a.Data)
	}
	return n
}

// committer collects the commits of a process and hands them to its one writer in groups: while one
// group is written, the next is collected.
type committer struct {
	store *Store

	mu      sync.Mutex
	waiting []*pending
	closed  bool
	// wake has a capacity of one: the writer takes all waiting commits.
	wake chan struct{}
	// done is closed when the writer has ended.
	done chan struct{}
}

func newCommitter(s *Store) *committer {
	c := &committer{store: s, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go c.runWriter()
	return c
}

// awaitCommit waits until a commit is made or rejected.
func (c *committer) awaitCommit(ctx context.Context, commit *store.Commit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := &pending{Commit: commit, ctx: ctx, done: make(chan error, 1)}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	c.waiting = append(c.waiting, p)
	c.mu.Unlock()
	c.wakeWriter()
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
	}
	if c.takeBack(p) {
		return ctx.Err()
	}
	return <-p.done
}

// takeBack removes a commit unless the writer has it.
func (c *committer) takeBack(p *pending) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.taken {
		return false
	}
	for i := range c.waiting {
		if c.waiting[i] == p {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			break
		}
	}
	return true
}

func (c *committer) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// runWriter writes group after group until the committer is closed and nothing waits.
func (c *committer) runWriter() {
	defer close(c.done)
	for {
		group, closed := c.nextGroup()
		switch {
		case len(group) > 0:
			c.store.writeGroup(group)
		case closed:
			return
		default:
			<-c.wake
		}
	}
}

// nextGroup takes the next group.
func (c *committer) nextGroup() (group []*pending, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := 0
	for _, p := range c.waiting {
		if len(group) == maxGroup || size > maxGroupBytes {
			break
		}
		p.taken = true
		size += p.approximateSize()
		group = append(group, p)
	}
	rest := copy(c.waiting, c.waiting[len(group):])
	clear(c.waiting[rest:])
	c.waiting = c.waiting[:rest]
	return group, c.closed
}

// close rejects new commits and waits for pending ones.
func (c *committer) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.wakeWriter()
	<-c.done
}

// gapError reports that the events of a commit do not follow the turn's last event.
func gapError(want, got uint64) error {
	return fmt.Errorf("the commit begins at seq %d, but the turn continues at seq %d", got, want)
}
