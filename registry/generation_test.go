package registry_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/registry"
	"pgregory.net/rapid"
)

// holder is a provider that holds something open.
type holder struct {
	executor
	closed atomic.Int32
	err    error
}

func (h *holder) Close() error {
	h.closed.Add(1)
	return h.err
}

// instead publishes a set of its own with providers.
func instead(t testing.TB, s *registry.Store, held ...*holder) {
	t.Helper()
	_, err := s.Publish(context.Background(), func(d *registry.Draft) error {
		d.Set = registry.NewSet()
		for i, h := range held {
			d.Providers.Put(string(rune('a'+i)), h)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsReplacedIsClosedOnceNobodyUsesIt(t *testing.T) {
	t.Parallel()
	s := registry.NewStore(approve)
	old, kept, latest := &holder{err: errors.New("stuck")}, &holder{}, &holder{}
	instead(t, s, old, kept)
	first, second := s.Acquire(), s.Acquire()
	instead(t, s, kept, latest)
	first.Release()
	if old.closed.Load() != 0 {
		t.Error("it is closed while a turn uses it")
	}
	second.Release()
	if err := s.Close(); !errors.Is(err, old.err) {
		t.Errorf("the store says %v", err)
	}
	if old.closed.Load() != 1 || kept.closed.Load() != 1 || latest.closed.Load() != 1 {
		t.Errorf("closed %d, %d and %d times", old.closed.Load(), kept.closed.Load(), latest.closed.Load())
	}
}

func TestAnEditedSetKeepsItsComponentsOpen(t *testing.T) {
	t.Parallel()
	s, held := registry.NewStore(approve), &holder{}
	instead(t, s, held)
	if _, err := s.Publish(t.Context(), func(d *registry.Draft) error { d.Tools.Put("x", tool("x")); return nil }); err != nil {
		t.Fatal(err)
	}
	if held.closed.Load() != 0 {
		t.Error("it is closed")
	}
	if err := s.Close(); err != nil || held.closed.Load() != 1 {
		t.Errorf("closed %d times, error %v", held.closed.Load(), err)
	}
}

func TestARefusedSetClosesNothing(t *testing.T) {
	t.Parallel()
	s, held := registry.NewStore(approve), &holder{}
	instead(t, s, held)
	wrong := errors.New("no")
	if _, err := s.Publish(t.Context(), func(d *registry.Draft) error { d.Set = registry.NewSet(); return wrong }); !errors.Is(err, wrong) {
		t.Fatal(err)
	}
	if held.closed.Load() != 0 {
		t.Error("it is closed")
	}
}

// Whatever the order in which revisions are taken, given back and replaced, what
// is in use is open, and in the end everything is closed once.
func TestComponentsAreOpenAsLongAsTheyAreUsed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := registry.NewStore(approve)
		all := []*holder{{}}
		instead(t, s, all[0])
		var users []*registry.Revision
		rt.Repeat(map[string]func(*rapid.T){
			"acquire": func(*rapid.T) { users = append(users, s.Acquire()) },
			"release": func(rt *rapid.T) {
				if len(users) == 0 {
					rt.Skip("nobody uses one")
				}
				i := rapid.IntRange(0, len(users)-1).Draw(rt, "user")
				users[i].Release()
				users = slices.Delete(users, i, i+1)
			},
			"replace": func(*rapid.T) {
				all = append(all, &holder{})
				instead(t, s, all[len(all)-1])
			},
			"replace some": func(rt *rapid.T) {
				var next []*holder
				for _, p := range s.Current().Set().Providers.All() {
					if h, ok := p.(*holder); ok && rapid.Bool().Draw(rt, "kept") {
						next = append(next, h)
					}
				}
				all = append(all, &holder{})
				instead(t, s, append(next, all[len(all)-1])...)
			},
			"": func(rt *rapid.T) {
				for _, rev := range append(users, s.Current()) {
					for _, p := range rev.Set().Providers.All() {
						if h, ok := p.(*holder); ok && h.closed.Load() != 0 {
							rt.Fatalf("revision %d is in use and closed", rev.Number())
						}
					}
				}
			},
		})
		for _, rev := range users {
			rev.Release()
		}
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
		for i, h := range all {
			if h.closed.Load() != 1 {
				rt.Fatalf("component %d is closed %d times", i, h.closed.Load())
			}
		}
	})
}
