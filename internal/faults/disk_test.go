package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// disk is a place for a SQLite file on which space can run out.
type disk interface {
	// fill uses up the space, and free releases it.
	fill(ctx context.Context, g gateway) error
	free(ctx context.Context, g gateway) error
}

// mounted is a small file system.
type mounted struct{ dir string }

func mount(t *testing.T) (*mounted, error) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return &mounted{dir}, nil
}

func (m *mounted) filler() string { return filepath.Join(m.dir, "filler") }

func (m *mounted) fill(context.Context, gateway) error {
	file, err := os.Create(m.filler())
	if err != nil {
		return err
	}
	defer file.Close()
	block := make([]byte, 4<<10)
	for err == nil {
		_, err = file.Write(block)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return nil
	}
	return err
}

func (m *mounted) free(context.Context, gateway) error { return os.Remove(m.filler()) }

// limited is a size limit on the worker's files.
type limited struct{ path string }

func (l *limited) fill(ctx context.Context, g gateway) error {
	info, err := os.Stat(l.path + "-wal")
	if err != nil {
		return err
	}
	_, err = g.do(ctx, request{Do: limitFiles, Size: uint64(info.Size())})
	return err
}

func (*limited) free(ctx context.Context, g gateway) error {
	_, err := g.do(ctx, request{Do: limitFiles, Size: math.MaxUint64})
	return err
}

func TestAFullDiskSpoilsNothing(t *testing.T) {
	t.Run("file system", func(t *testing.T) {
		m, err := mount(t)
		if err != nil {
			t.Skipf("no file system can be mounted here: %v", err)
		}
		p := nowhere(t, onSQLite)
		p.DSN = filepath.Join(m.dir, "runtime.db")
		fillUp(t, p, m)
	})
	t.Run("file size", func(t *testing.T) {
		p := nowhere(t, onSQLite)
		fillUp(t, p, &limited{p.DSN})
	})
}

// fillUp fills a worker's disk under load, twice, and frees it.
func fillUp(t *testing.T, p *place, d disk) {
	t.Helper()
	p.Lease = 600 * time.Millisecond
	workers := newFleet(t, p, 1, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	w, err := workers.worker(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, seed := seeded(t)
	load := newWorkload(t, workers.gateway)
	var calm atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		load.run(ctx, sessions, seed, func() bool { return !calm.Load() })
	}()
	for n := range 2 {
		waitForProgress(ctx, t, w, 100)
		if err := d.fill(ctx, w); err != nil {
			t.Fatal(err)
		}
		refused := 0
		if err := poll(ctx, func() bool {
			id := fmt.Sprintf("full-%d-%d", n, refused)
			if _, err := w.do(ctx, request{Do: makeSession, Session: id}); err != nil {
				refused++
			}
			return refused >= 20
		}); err != nil {
			t.Fatal("a full disk is not felt")
		}
		if err := d.free(ctx, w); err != nil {
			t.Fatal(err)
		}
	}
	waitForProgress(ctx, t, w, 100)
	calm.Store(true)
	<-done
	if w.over() {
		t.Error("the worker died of it")
	}
	workers.finish(t)
	t.Log(inspect(t, p, load))
}

// waitForProgress waits until a worker has made progress n times.
func waitForProgress(ctx context.Context, t *testing.T, w *process, times int64) {
	t.Helper()
	more := w.worked.Load() + times
	if err := poll(ctx, func() bool { return w.worked.Load() >= more }); err != nil {
		t.Fatal("the worker does not make progress")
	}
}
