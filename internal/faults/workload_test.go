package faults_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// workload makes turns, follows them, answers their questions, and cancels some, through any
// gateway, as long as needed. It records all responses.
type workload struct {
	t testing.TB
	// gate waits for a service that accepts requests.
	gate func(ctx context.Context) (gateway, error)

	mu       sync.Mutex
	sessions map[string][]string // turns, in creation order
	turns    map[string]*watched
	tasks    sync.WaitGroup
}

// watched is the known state of a turn.
type watched struct {
	plan plan
	// seen are the events by seq, of any reader.
	seen map[uint64]sighting
	// canceled is set if a cancel was requested, and ended is the state in the response.
	canceled bool
	ended    store.Status
	// refused is set if the person rejects everything.
	refused bool
}

func newWorkload(t testing.TB, gate func(ctx context.Context) (gateway, error)) *workload {
	return &workload{t: t, gate: gate, sessions: make(map[string][]string), turns: make(map[string]*watched)}
}

// shape returns a random plan.
func shape(random *rand.Rand, id string) plan {
	p := plan{Turn: id, Pace: time.Duration(1+random.IntN(8)) * time.Millisecond}
	for range 1 + random.IntN(4) {
		var step []string
		for range 1 + random.IntN(3) {
			step = append(step, []string{look, look, put, put, pay, pay, sign, delegate}[random.IntN(8)])
		}
		p.Steps = append(p.Steps, step)
	}
	p.Below = &plan{
		Pace: p.Pace, Steps: [][]string{{put, pay}, {subdelegate, put}, {look}},
		Below: &plan{Pace: p.Pace, Steps: [][]string{{pay, put, look}, {put, pay}}},
	}
	return p
}

// run works on sessions until more is false, then until all turns have ended. Each session makes
// several concurrent turns, one of which continues.
func (w *workload) run(ctx context.Context, sessions int, seed uint64, more func() bool) {
	for n := range sessions {
		w.tasks.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			id := fmt.Sprintf("session-%d", n)
			if !w.ask(ctx, request{Do: makeSession, Session: id}) {
				return
			}
			for batch := 0; more() && ctx.Err() == nil && !w.t.Failed(); batch++ {
				w.batch(ctx, id, batch, random)
			}
		})
	}
	w.tasks.Wait()
}

// batch makes some turns and waits for them to end.
func (w *workload) batch(ctx context.Context, session string, batch int, random *rand.Rand) {
	var ends sync.WaitGroup
	for i := range 1 + random.IntN(3) {
		id := fmt.Sprintf("%s.%d.%d", session, batch, i)
		p := shape(random, id)
		cancelAt := uint64(0)
		if random.IntN(8) == 0 {
			cancelAt = 1 + random.Uint64N(25)
		}
		agree := random.IntN(4) > 0
		if !w.make(ctx, session, p, agree) {
			break
		}
		replay := rand.New(rand.NewPCG(random.Uint64(), 0))
		ends.Go(func() { w.watch(ctx, id, cancelAt, replay) })
	}
	ends.Wait()
}

// make makes a turn.
func (w *workload) make(ctx context.Context, session string, p plan, agree bool) bool {
	w.mu.Lock()
	w.sessions[session] = append(w.sessions[session], p.Turn)
	w.turns[p.Turn] = &watched{plan: p, seen: make(map[uint64]sighting), refused: !agree}
	w.mu.Unlock()
	return w.ask(ctx, request{Do: makeTurn, Session: session, Turn: p.Turn, Text: p.text()})
}

// ask retries until there is an answer. It returns false if ctx ends first.
func (w *workload) ask(ctx context.Context, r request) bool {
	_, err := w.status(ctx, r)
	return err == nil
}

func (w *workload) status(ctx context.Context, r request) (store.Status, error) {
	var last error
	for ctx.Err() == nil {
		g, err := w.gate(ctx)
		if err != nil {
			break
		}
		once, cancel := context.WithTimeout(ctx, patience/2)
		status, err := g.do(once, r)
		cancel()
		if err == nil {
			return status, nil
		}
		last = err
		if err != errGone { //nolint:errorlint // it is handed on as it is
			w.breathe(ctx)
		}
	}
	w.t.Errorf("nobody did %+v: %v", r, last)
	return "", ctx.Err()
}

// breathe waits a moment before a retry.
func (w *workload) breathe(ctx context.Context) {
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// watch follows a turn to its end, across the deaths of the processes it queries. It occasionally
// restarts and so sees events again.
func (w *workload) watch(ctx context.Context, id string, cancelAt uint64, random *rand.Rand) {
	var asides sync.WaitGroup
	defer asides.Wait()
	after, asked := uint64(0), make(map[string]bool)
	for ctx.Err() == nil {
		g, err := w.gate(ctx)
		if err != nil {
			break
		}
		for s, err := range g.follow(ctx, id, after) {
			if err != nil {
				break
			}
			w.saw(after, &s)
			after = s.Seq
			if cancelAt > 0 && after >= cancelAt {
				cancelAt = 0
				asides.Go(func() { w.cancel(ctx, id) })
			}
			if target, ok := s.interaction(); ok && !asked[target] {
				asked[target] = true
				asides.Go(func() { w.answer(ctx, id, target) })
			}
			if s.Last {
				return
			}
		}
		if random.IntN(3) == 0 {
			after = 0
		}
		w.breathe(ctx)
	}
	if ctx.Err() != nil {
		w.t.Errorf("turn %s has no end; its latest event is %d", id, after)
	}
}

// saw records an event and compares it with earlier sightings.
func (w *workload) saw(after uint64, s *sighting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Seq != after+1 {
		w.t.Errorf("turn %s: after event %d comes %d", s.Turn, after, s.Seq)
	}
	known, ok := w.turns[s.Turn].seen[s.Seq]
	if !ok {
		w.turns[s.Turn].seen[s.Seq] = *s
	} else if !bytes.Equal(known.Data, s.Data) {
		w.t.Errorf("event %d of turn %s was\n%s\nand is now\n%s", s.Seq, s.Turn, known.Data, s.Data)
	}
}

func (w *workload) cancel(ctx context.Context, id string) {
	w.mu.Lock()
	w.turns[id].canceled = true
	w.mu.Unlock()
	status, err := w.status(ctx, request{Do: cancelTurn, Turn: id})
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turns[id].ended = status
}

func (w *workload) answer(ctx context.Context, id, target string) {
	w.mu.Lock()
	agree := !w.turns[id].refused
	w.mu.Unlock()
	w.ask(ctx, request{Do: answerIt, Turn: id, Target: target, Approve: agree})
}

// open makes a session.
func (w *workload) open(t *testing.T, session string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !w.ask(ctx, request{Do: makeSession, Session: session}) {
		t.Fatal("there is no session")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[session] = nil
}

// follow makes a turn and follows it to its end.
func (w *workload) follow(t *testing.T, session string, p plan) {
	t.Helper()
	if !w.make(t.Context(), session, p, true) {
		t.Fatalf("there is no turn %s", p.Turn)
	}
	w.end(t, p.Turn)
}

// end follows a turn to its end.
func (w *workload) end(t *testing.T, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w.watch(ctx, id, 0, rand.New(rand.NewPCG(0, 0)))
}
