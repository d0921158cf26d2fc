package faults_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
)

func TestPostgresDiesUnderLoadAndNothingIsLost(t *testing.T) {
	server := pgtest.New(t)
	p := &place{Driver: onPostgres, Witness: t.TempDir() + "/witness", Lease: 600 * time.Millisecond, Strikes: plenty, Log: logPath()}
	p.at(t, server)
	reader := visit(t, p)
	reader.Listen()
	workers := newFleet(t, p, 2, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	random, seed := seeded(t)
	load := newWorkload(t, func(context.Context) (gateway, error) { return direct{reader.Service}, nil })
	var calm atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		load.run(ctx, sessions, seed, func() bool { return !calm.Load() })
	}()
	for slot := range 2 { // workers without a database at startup exit
		if _, err := workers.worker(ctx, slot); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		w, err := workers.worker(ctx, random.IntN(2))
		if err != nil {
			t.Fatal(err)
		}
		waitForProgress(ctx, t, w, 50+random.Int64N(100))
		server.Restart(t)
	}
	calm.Store(true)
	<-done
	workers.finish(t)
	t.Log(inspect(t, p, load))
}
