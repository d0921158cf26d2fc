package runtime

import (
	stdruntime "runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// started counts the goroutines that run a number of functions, one after the other.
func started(p *workers, n int) int {
	ids := map[*worker]bool{}
	for range n {
		done := make(chan struct{})
		p.runAside(func() { close(done) })
		<-done
		synctest.Wait()
		p.mu.Lock()
		for _, w := range p.idle {
			ids[w] = true
		}
		p.mu.Unlock()
	}
	return len(ids)
}

func TestAGoroutineIsKeptForTheNextFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p workers
		defer p.close()
		if n := started(&p, 10); n != 1 {
			t.Errorf("10 functions in a row ran on %d goroutines, want 1", n)
		}
	})
}

func TestIdleGoroutinesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p workers
		var all sync.WaitGroup
		release := make(chan struct{})
		for range 5 {
			all.Add(1)
			p.runAside(func() { defer all.Done(); <-release })
		}
		close(release)
		all.Wait()
		synctest.Wait()
		if n := len(p.idle); n != 5 {
			t.Errorf("%d goroutines wait, want 5", n)
		}
		for range 4 { // one of them is used all the time
			time.Sleep(idleTime - 1)
			started(&p, 1)
		}
		if n := len(p.idle); n != 1 {
			t.Errorf("%d goroutines wait after a while, want the one that is used", n)
		}
		time.Sleep(2*idleTime + 1)
		synctest.Wait()
		if n := len(p.idle); n != 0 || p.trimming {
			t.Errorf("%d goroutines wait in the end, want 0", n)
		}
	})
}

func TestAFunctionThatHangsKeepsOneGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p workers
		release := make(chan struct{})
		p.runAside(func() { <-release })
		if n := started(&p, 3); n != 1 {
			t.Errorf("3 functions ran on %d goroutines beside the one that hangs, want 1", n)
		}
		p.close()
		close(release) // its goroutine ends, too, or the bubble does not
	})
}

func TestAGoexitEndsOneGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p workers
		defer p.close()
		p.runAside(stdruntime.Goexit)
		synctest.Wait()
		if n := started(&p, 3); n != 1 {
			t.Errorf("3 functions ran on %d goroutines, want 1", n)
		}
	})
}
