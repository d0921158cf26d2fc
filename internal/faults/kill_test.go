package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// sessions is the number of sessions with concurrent turns.
const sessions = 12

// kills returns the number of workers to kill: FAULTS_KILLS for each database.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("FAULTS_KILLS")
	if text == "" {
		return 100
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("FAULTS_KILLS: %v", err)
	}
	return n
}

// seeded returns a random source and prints its seed: FAULTS_SEED, or a random one.
func seeded(t *testing.T) (*rand.Rand, uint64) {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("FAULTS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("FAULTS_SEED: %v", err)
		}
	}
	t.Logf("FAULTS_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 1)), seed
}

// nowhere returns an empty place.
func nowhere(t *testing.T, driver string) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{Driver: driver, Witness: filepath.Join(dir, "witness"), Log: logPath(), Strikes: plenty}
	if driver == onSQLite {
		p.DSN = filepath.Join(dir, "runtime.db")
		return p
	}
	p.at(t, pgtest.Start(t))
	return p
}

// logPath is the path of the workers' logs: FAULTS_LOG, or empty.
func logPath() string { return os.Getenv("FAULTS_LOG") }

// at puts a place into a new database.
func (p *place) at(t *testing.T, s *pgtest.Server) {
	t.Helper()
	p.DSN = s.Database(t)
	if err := p.migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// visit returns a service in this process that does no work until it is started.
func visit(t *testing.T, p *place, changes ...change) *engine {
	t.Helper()
	e, err := open(t.Context(), p, zap.NewNop(), func(string) {}, changes...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.close)
	return e
}

func TestKilledWorkersOfSQLiteLoseNothing(t *testing.T) {
	p := nowhere(t, onSQLite)
	workers := newFleet(t, p, 1, nil)
	survive(t, p, workers, workers.gateway)
}

func TestKilledWorkersOfPostgresLoseNothing(t *testing.T) {
	t.Parallel()
	p := nowhere(t, onPostgres)
	p.Lease = 600 * time.Millisecond
	reader := visit(t, p)
	reader.Listen()
	workers := newFleet(t, p, 3, nil)
	workers.calm = 30
	survive(t, p, workers, func(context.Context) (gateway, error) { return direct{reader.Service}, nil })
}

// survive kills workers under load, lets the last workers finish, and checks the result.
func survive(t *testing.T, p *place, workers *fleet, gate func(ctx context.Context) (gateway, error)) {
	t.Helper()
	n := kills(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience+time.Duration(n)*2*time.Second)
	defer cancel()
	random, seed := seeded(t)
	begun := time.Now()
	var calm atomic.Bool
	load, gaps := newWorkload(t, gate), make(chan []time.Duration, 1)
	go func() {
		defer calm.Store(true)
		gaps <- workers.storm(ctx, n, random)
	}()
	load.run(ctx, sessions, seed, func() bool { return !calm.Load() })
	waits := <-gaps
	took := time.Since(begun)
	workers.finish(t)
	audited := inspect(t, p, load)
	t.Logf("%s: %d kills in %s, %v", p.Driver, n, took.Round(time.Millisecond), audited)
	if len(waits) > 0 {
		t.Logf("%s: from a kill to the next step: %v", p.Driver, percentiles(waits))
	}
}

// finish lets the workers exit normally.
func (f *fleet) finish(t *testing.T) {
	t.Helper()
	for _, w := range f.dismiss() {
		if err := w.end(); err != nil {
			t.Error(err)
		}
	}
	f.keeper.Wait()
}

// inspect checks a place without workers.
func inspect(t *testing.T, p *place, load *workload) *audit {
	t.Helper()
	kept, err := p.store(t.Context(), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	idle(t, kept)
	return check(t.Context(), t, kept, load, readWitness(t, p.Witness))
}

// idle checks that a store has no live turns.
func idle(t *testing.T, kept store.Store) {
	t.Helper()
	page, err := kept.Turns(t.Context(), store.TurnQuery{Scope: store.Everything, Statuses: []store.Status{store.Pending, store.Running, store.Waiting}})
	if err != nil || len(page.Turns) > 0 {
		t.Errorf("%d turns have not ended, %v", len(page.Turns), err)
	}
}

// percentiles formats a report on durations.
func percentiles(list []time.Duration) string {
	slices.Sort(list)
	at := func(p int) time.Duration { return list[(len(list)-1)*p/100].Round(time.Millisecond) }
	return fmt.Sprintf("p50 %s, p99 %s, the longest %s", at(50), at(99), at(100))
}
