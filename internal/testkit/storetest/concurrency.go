package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

var concurrencyTests = []test{
	{name: "ATurnHasOneOwner", run: aTurnHasOneOwner},
	{name: "ManyTurnsCommitAtOnce", run: manyTurnsCommitAtOnce},
	{name: "OneWorkerCommitsInOrder", run: oneWorkerCommitsInOrder},
	{name: "ASessionRunsOneTurnAtATime", run: aSessionRunsOneTurnAtATime},
	{name: "AnEndAndAFinishAgreeOnOne", run: anEndAndAFinishAgreeOnOne},
	{name: "AnAnswerIsNotLostInASuspend", run: anAnswerIsNotLostInASuspend},
	{name: "OneOfManyAnswersStands", run: oneOfManyAnswersStands},
	{name: "ReapTakesATurnOnce", run: reapTakesATurnOnce},
}

// together calls a function n times at once, and wants no error.
func (f *fixture) together(n int, do func(i int) error) {
	f.Helper()
	var wait sync.WaitGroup
	failed := make([]error, n)
	for i := range n {
		wait.Go(func() { failed[i] = do(i) })
	}
	wait.Wait()
	ok(f, errors.Join(failed...))
}

func aTurnHasOneOwner(f *fixture) {
	const turns, workers, rounds = 4, 8, 3
	names := numbered("t", turns)
	for _, id := range names {
		f.session("session-" + id)
		f.turn("session-"+id, id)
	}
	for round := range rounds {
		var mu sync.Mutex
		owners := make(map[string]*store.Claimed)
		f.together(workers, func(i int) error {
			for _, id := range names {
				c := f.claimOf(id)
				c.Worker = fmt.Sprint("worker-", i)
				claimed, err := f.Claim(f.Context(), c)
				var state *store.StateError
				if errors.As(err, &state) && state.State == string(store.Running) {
					continue
				}
				if err != nil {
					return err
				}
				mu.Lock()
				before := owners[id]
				owners[id] = claimed
				mu.Unlock()
				if before != nil {
					return fmt.Errorf("%s was claimed by %s and by %s", id, before.Turn.Worker, claimed.Turn.Worker)
				}
			}
			return nil
		})
		equal(f, "how many turns have an owner", len(owners), turns)
		for id, c := range owners {
			equal(f, "the fence of "+id, c.Turn.Fence, int64(round+1))
			equal(f, "the owner of "+id, f.get(id).Worker, c.Turn.Worker)
			yield := f.commitOf(c)
			yield.Yield = true
			f.commit(yield)
		}
	}
}

func manyTurnsCommitAtOnce(f *fixture) {
	const turns, commits = 64, 12
	claimed := make([]*store.Claimed, turns)
	for i, id := range numbered("t", turns) {
		claimed[i] = f.running("session-"+id, id)
	}
	f.together(turns, func(i int) error {
		c := claimed[i]
		seq := uint64(0)
		for n := range commits {
			add := f.commitOf(c)
			for range n % 3 {
				seq++
				add.Events = append(add.Events, f.eventOf(&c.Turn, seq, fmt.Sprintf(`{"turn":%d,"seq":%d}`, i, seq)))
			}
			add.Messages = messages(fmt.Sprint(c.Turn.ID, " message ", n))
			if n%4 == 0 {
				add.State, add.Steps = fmt.Append(nil, c.Turn.ID, " state ", n), n
			}
			if n == commits/2 { // one that is refused takes none of the others with it
				late := *add
				late.Fence--
				var fenced *store.FencedError
				if err := f.Commit(f.Context(), &late); !errors.As(err, &fenced) {
					return fmt.Errorf("a commit under an older fence: %w", err)
				}
			}
			if err := f.Commit(f.Context(), add); err != nil {
				return err
			}
			list, err := f.Events(f.Context(), c.Turn.ID, 0, 1000) // it is there when Commit returns
			if err != nil || len(list) != int(seq) {
				return fmt.Errorf("%s has %d events, want %d: %w", c.Turn.ID, len(list), seq, err)
			}
		}
		return nil
	})
	for i, c := range claimed {
		for n, ev := range f.events(c.Turn.ID) {
			equal(f, "the event", string(ev.Data), fmt.Sprintf(`{"turn":%d,"seq":%d}`, i, n+1))
			equal(f, "its seq", ev.Seq, uint64(n+1))
		}
		own, err := f.OwnMessages(f.Context(), c.Turn.ID)
		ok(f, err)
		equal(f, "how many messages there are", len(own), 1+commits)
		equal(f, "the last message", own[commits], messages(fmt.Sprint(c.Turn.ID, " message ", commits-1))[0])
	}
}

func oneWorkerCommitsInOrder(f *fixture) {
	const n = 100
	c := f.running("s", "t")
	// Readers never see a gap, whatever is under way.
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			after := uint64(0)
			for {
				list, err := f.Events(f.Context(), "t", after, 1000)
				if err != nil {
					f.Error(err)
					return
				}
				for _, ev := range list {
					if ev.Seq != after+1 {
						f.Errorf("event %d follows event %d", ev.Seq, after)
						return
					}
					after = ev.Seq
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for seq := uint64(1); seq <= n; seq += 2 {
		add := f.commitOf(c)
		add.Events = []event.Record{f.eventOf(&c.Turn, seq, `{}`), f.eventOf(&c.Turn, seq+1, `{}`)}
		if err := f.Commit(f.Context(), add); err != nil {
			f.Error(err)
			break
		}
	}
	close(stop)
	readers.Wait()
	equal(f, "how many events there are", len(f.events("t")), n)
}

func aSessionRunsOneTurnAtATime(f *fixture) {
	const turns = 24
	f.session("s")
	f.together(turns, func(i int) error {
		_, err := f.CreateTurn(f.Context(), f.turnOf("s", fmt.Sprint("t", i)))
		return err
	})
	ran := 0
	tip := ""
	for jobs := f.queue.Take(); len(jobs) > 0; jobs = f.queue.Take() {
		equal(f, "how many turns are admitted", len(jobs), 1)
		c := f.claim(jobs[0].TurnID)
		equal(f, "what the turn goes on from", c.Turn.ParentSnapshotID, tip)
		f.finish(c)
		tip = c.Turn.SnapshotID
		ran++
	}
	equal(f, "how many turns ran", ran, turns)
	all, err := f.Conversation(f.Context(), tip)
	ok(f, err)
	equal(f, "how many messages the conversation has", len(all), 2*turns)
}

func anEndAndAFinishAgreeOnOne(f *fixture) {
	for i := range 20 {
		session, turn := fmt.Sprint("s", i), fmt.Sprint("t", i)
		c := f.running(session, turn)
		f.turn(session, "next-"+turn)
		last := f.finishOf(c)
		last.Events = append(last.Events, f.eventOf(&c.Turn, 1, `{"finished":true}`))
		finished := false
		f.together(2, func(i int) error {
			if i == 0 {
				_, err := f.EndTurn(f.Context(), f.endOf(turn))
				return err
			}
			err := f.Commit(f.Context(), last)
			finished = err == nil
			var fenced *store.FencedError
			if errors.As(err, &fenced) {
				return nil
			}
			return err
		})
		want, tip := store.Canceled, ""
		if finished {
			want, tip = store.Succeeded, c.Turn.SnapshotID
		}
		equal(f, "the state", f.status(turn), want)
		equal(f, "the tip", f.getSession(session).Tip, tip)
		equal(f, "how many events there are", len(f.events(turn)), 1)
		f.jobs("next-" + turn)
	}
}

func anAnswerIsNotLostInASuspend(f *fixture) {
	for i := range 20 {
		turn := fmt.Sprint("t", i)
		c := f.running(fmt.Sprint("s", i), turn)
		f.suspend(c, "q1", "q2")
		f.answer(turn, "q1", "yes")
		c = f.claim(turn)
		f.queue.Take()
		again := f.commitOf(c)
		again.Suspend = &store.Suspend{Open: []string{"q2"}}
		f.together(2, func(i int) error {
			if i == 0 {
				return f.Commit(f.Context(), again)
			}
			_, err := f.AnswerInteraction(f.Context(), f.answerOf(turn, "q2", "yes"))
			return err
		})
		equal(f, "the state", f.status(turn), store.Pending)
		f.jobs(turn)
	}
}

func oneOfManyAnswersStands(f *fixture) {
	const n = 8
	f.suspend(f.running("s", "t"), "q")
	var stood atomic.Int64
	f.together(n, func(i int) error {
		_, err := f.AnswerInteraction(f.Context(), f.answerOf("t", "q", fmt.Sprint(i)))
		var conflict *store.ConflictError
		if errors.As(err, &conflict) {
			return nil
		}
		if err == nil {
			stood.Add(1)
		}
		return err
	})
	equal(f, "how many answers stand", stood.Load(), 1)
	f.jobs("t")
}

func reapTakesATurnOnce(f *fixture) {
	f.session("s")
	f.turn("s", "t")
	f.jobs("t")
	c := f.claimOf("t")
	c.Lease, c.Now = brief, f.now
	_, err := f.Claim(f.Context(), c)
	ok(f, err)
	var taken atomic.Int64
	f.eventually("the lease ends", func() bool {
		f.together(4, func(int) error {
			n, err := f.Reap(f.Context(), time.Now())
			taken.Add(int64(n))
			return err
		})
		return taken.Load() > 0
	})
	equal(f, "how often the turn was taken", taken.Load(), 1)
	equal(f, "the strikes", f.get("t").Strikes, 1)
	f.jobs("t")
}
