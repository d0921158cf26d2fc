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

// runTogether runs n concurrent calls of a function and checks that none fails.
func runTogether(f *fixture, n int, do func(i int) error) {
	f.Helper()
	var wait sync.WaitGroup
	failed := make([]error, n)
	for i := range n {
		wait.Go(func() { failed[i] = do(i) })
	}
	wait.Wait()
	wantOK(f, errors.Join(failed...))
}

func aTurnHasOneOwner(f *fixture) {
	const turns, workers, rounds = 4, 8, 3
	names := numberedNames("t", turns)
	for _, id := range names {
		f.createSessions("session-" + id)
		f.createTurns("session-"+id, id)
	}
	for round := range rounds {
		var mu sync.Mutex
		owners := make(map[string]*store.Claimed)
		runTogether(f, workers, func(i int) error {
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
		wantEqual(f, "how many turns have an owner", len(owners), turns)
		for id, c := range owners {
			wantEqual(f, "the fence of "+id, c.Turn.Fence, int64(round+1))
			wantEqual(f, "the owner of "+id, f.getTurn(id).Worker, c.Turn.Worker)
			f.yieldTurn(c)
		}
	}
}

func manyTurnsCommitAtOnce(f *fixture) {
	const turns, commits = 64, 12
	claimed := make([]*store.Claimed, turns)
	for i, id := range numberedNames("t", turns) {
		claimed[i] = f.createRunning("session-"+id, id)
	}
	runTogether(f, turns, func(i int) error {
		c := claimed[i]
		seq := uint64(0)
		for n := range commits {
			add := f.commitOf(c)
			for range n % 3 {
				seq++
				add.Events = append(add.Events, f.eventOf(&c.Turn, seq, fmt.Sprintf(`{"turn":%d,"seq":%d}`, i, seq)))
			}
			add.Messages = textMessages(fmt.Sprint(c.Turn.ID, " message ", n))
			if n%4 == 0 {
				add.State, add.Steps = fmt.Append(nil, c.Turn.ID, " state ", n), n
			}
			if n == commits/2 { // a rejected commit does not fail its batch
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
		for n, ev := range f.listEvents(c.Turn.ID) {
			wantEqual(f, "the event", string(ev.Data), fmt.Sprintf(`{"turn":%d,"seq":%d}`, i, n+1))
			wantEqual(f, "its seq", ev.Seq, uint64(n+1))
		}
		own := try(f.OwnMessages(f.Context(), c.Turn.ID)).wantOK(f)
		wantEqual(f, "how many messages there are", len(own), 1+commits)
		wantEqual(f, "the last message", own[commits], textMessages(fmt.Sprint(c.Turn.ID, " message ", commits-1))[0])
	}
}

func oneWorkerCommitsInOrder(f *fixture) {
	const n = 100
	c := f.createRunning("s", "t")
	// Readers never see a gap, whatever runs concurrently.
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
	wantEqual(f, "how many events there are", len(f.listEvents("t")), n)
}

func aSessionRunsOneTurnAtATime(f *fixture) {
	const turns = 24
	f.createSessions("s")
	runTogether(f, turns, func(i int) error {
		_, err := f.CreateTurn(f.Context(), f.turnOf("s", fmt.Sprint("t", i)))
		return err
	})
	ran := 0
	tip := ""
	for jobs := f.queue.Take(); len(jobs) > 0; jobs = f.queue.Take() {
		wantEqual(f, "how many turns are admitted", len(jobs), 1)
		c := f.claimTurn(jobs[0].TurnID)
		wantEqual(f, "what the turn goes on from", c.Turn.ParentSnapshotID, tip)
		f.finishTurn(c)
		tip = c.Turn.SnapshotID
		ran++
	}
	wantEqual(f, "how many turns ran", ran, turns)
	all := try(f.Conversation(f.Context(), tip)).wantOK(f)
	wantEqual(f, "how many messages the conversation has", len(all), 2*turns)
}

func anEndAndAFinishAgreeOnOne(f *fixture) {
	for i := range 20 {
		session, turn := fmt.Sprint("s", i), fmt.Sprint("t", i)
		c := f.createRunning(session, turn)
		f.createTurns(session, "next-"+turn)
		last := f.finishOf(c)
		last.Events = append(last.Events, f.eventOf(&c.Turn, 1, `{"finished":true}`))
		finished := false
		runTogether(f, 2, func(i int) error {
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
		wantEqual(f, "the state", f.turnStatus(turn), want)
		wantEqual(f, "the tip", f.getSession(session).Tip, tip)
		wantEqual(f, "how many events there are", len(f.listEvents(turn)), 1)
		f.wantJobs("next-" + turn)
	}
}

func anAnswerIsNotLostInASuspend(f *fixture) {
	for i := range 20 {
		turn := fmt.Sprint("t", i)
		c := f.createRunning(fmt.Sprint("s", i), turn)
		f.suspendTurn(c, "q1", "q2")
		f.answerTurn(turn, "q1", "yes")
		c = f.claimTurn(turn)
		f.queue.Take()
		again := f.commitOf(c)
		again.Suspend = &store.Suspend{Open: []string{"q2"}}
		runTogether(f, 2, func(i int) error {
			if i == 0 {
				return f.Commit(f.Context(), again)
			}
			_, err := f.AnswerInteraction(f.Context(), f.answerOf(turn, "q2", "yes"))
			return err
		})
		wantEqual(f, "the state", f.turnStatus(turn), store.Pending)
		f.wantJobs(turn)
	}
}

func oneOfManyAnswersStands(f *fixture) {
	const n = 8
	f.suspendTurn(f.createRunning("s", "t"), "q")
	var stood atomic.Int64
	runTogether(f, n, func(i int) error {
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
	wantEqual(f, "how many answers stand", stood.Load(), 1)
	f.wantJobs("t")
}

func reapTakesATurnOnce(f *fixture) {
	f.createQueued("s", "t")
	f.wantJobs("t")
	c := f.claimOf("t")
	c.Lease, c.Now = brief, f.now
	try(f.Claim(f.Context(), c)).wantOK(f)
	var taken atomic.Int64
	f.eventually("the lease ends", func() bool {
		runTogether(f, 4, func(int) error {
			n, err := f.Reap(f.Context(), time.Now())
			taken.Add(int64(n))
			return err
		})
		return taken.Load() > 0
	})
	wantEqual(f, "how often the turn was taken", taken.Load(), 1)
	wantEqual(f, "the strikes", f.getTurn("t").Strikes, 1)
	f.wantJobs("t")
}
