package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

func TestAStoreBeginsEmpty(t *testing.T) {
	t.Parallel()
	rev := registry.NewStore(approve).Current()
	if rev.Number() != 0 || len(rev.Set().AgentIDs()) != 0 {
		t.Errorf("revision %d has agents %v", rev.Number(), rev.Set().AgentIDs())
	}
}

// A draft is published as a whole or not at all.
func TestPublishIsAllOrNothing(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	warning := diag.New(diag.UnmatchedTool, "agents.a.allowed_tools[0]", "it names nothing")
	wrong := diag.New(diag.ModelNotFound, "agents.a.model_id", "it is gone")
	for name, tt := range map[string]struct {
		edit  func(*registry.Draft) error
		check registry.Check
		want  func(error) bool
	}{
		"the edit fails": {
			edit: func(d *registry.Draft) error { d.Agents.Remove("a"); return boom },
			want: func(err error) bool { return errors.Is(err, boom) },
		},
		"the dry run fails": {
			edit:  func(d *registry.Draft) error { d.Agents.Remove("a"); return nil },
			check: func(context.Context, *registry.Revision) (diag.List, error) { return diag.List{warning, wrong}, wrong },
			want: func(err error) bool {
				invalid, ok := errors.AsType[*registry.InvalidError](err)
				d, typed := errors.AsType[diag.Diagnostic](err)
				return ok && typed && d.Code == diag.ModelNotFound && cmp.Equal(invalid.Diagnostics, diag.List{warning, wrong}) &&
					strings.HasPrefix(err.Error(), "the configuration is invalid: model-not-found")
			},
		},
		"an entry is nil": {
			edit: func(d *registry.Draft) error { d.Agents.Put("b", nil); d.Tools.Put("x", tools.Tool(nil)); return nil },
			want: func(err error) bool {
				invalid, ok := errors.AsType[*registry.InvalidError](err)
				return ok && len(invalid.Diagnostics) == 2
			},
		},
		"an entry has another id": {
			edit: func(d *registry.Draft) error { d.Models.Put("x", &spec.Model{ID: "y"}); return nil },
			want: func(err error) bool { return strings.Contains(err.Error(), `model "y" is registered under the id "x"`) },
		},
		"the set is not complete": {
			edit: func(d *registry.Draft) error { d.Agents, d.Tools = nil, nil; return nil },
			want: func(err error) bool {
				invalid, ok := errors.AsType[*registry.InvalidError](err)
				return ok && len(invalid.Diagnostics) == 2
			},
		},
		"there is no set": {
			edit: func(d *registry.Draft) error { d.Set = nil; return nil },
			want: func(err error) bool { return strings.Contains(err.Error(), "no set") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuse := false
			store := registry.NewStore(func(ctx context.Context, rev *registry.Revision) (diag.List, error) {
				if refuse && tt.check != nil {
					return tt.check(ctx, rev)
				}
				return nil, nil
			})
			before, err := store.Publish(t.Context(), full)
			if err != nil {
				t.Fatal(err)
			}
			refuse = true
			if rev, err := store.Publish(t.Context(), tt.edit); rev != nil || !tt.want(err) {
				t.Errorf("Publish = %v, %v", rev, err)
			}
			if store.Current() != before {
				t.Error("something was published all the same")
			}
			if _, ok := before.Set().Agents.Get("a"); !ok {
				t.Error("the edit reached the current revision")
			}
			refuse = false
			if rev, err := store.Publish(t.Context(), full); err != nil || rev.Number() != 2 {
				t.Errorf("the next one = %v, %v; a failed draft takes no number", rev, err)
			}
		})
	}
}

// A dry run that was cut short proves nothing, whatever it returns.
func TestPublishEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, found := range map[string]error{"silently": nil, "with an error": context.Canceled} {
		ctx, cancel := context.WithCancel(t.Context())
		store := registry.NewStore(func(context.Context, *registry.Revision) (diag.List, error) {
			cancel()
			return nil, found
		})
		rev, err := store.Publish(ctx, full)
		if _, invalid := errors.AsType[*registry.InvalidError](err); rev != nil || invalid || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Publish = %v, %v", name, rev, err)
		}
		if store.Current().Number() != 0 {
			t.Errorf("%s: something was published", name)
		}
	}
}

// Drafts that are made at the same time build on each other.
func TestConcurrentPublishesLoseNothing(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 25
	store := registry.NewStore(approve)
	numbers := make(chan uint64, writers*each)
	stop := make(chan struct{})
	var reading, writing sync.WaitGroup
	reading.Go(func() {
		var last uint64
		for {
			select {
			case <-stop:
				return
			default:
			}
			rev := store.Current()
			if n := rev.Number(); n < last || n != uint64(rev.Set().Agents.Len()) {
				t.Errorf("revision %d after %d has %d agents", n, last, rev.Set().Agents.Len())
				return
			} else {
				last = n
			}
		}
	})
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				id := fmt.Sprintf("w%d-%d", w, i)
				rev, err := store.Publish(t.Context(), func(d *registry.Draft) error {
					return d.Agents.Add(id, &spec.Agent{ID: id})
				})
				if err != nil {
					t.Error(err)
					return
				}
				numbers <- rev.Number()
			}
		})
	}
	writing.Wait()
	close(stop)
	reading.Wait()
	close(numbers)
	seen := make(map[uint64]bool)
	for n := range numbers {
		seen[n] = true
	}
	if len(seen) != writers*each || !seen[1] || !seen[writers*each] {
		t.Errorf("%d different numbers for %d publishes", len(seen), writers*each)
	}
	if n := store.Current().Set().Agents.Len(); n != writers*each {
		t.Errorf("%d agents are left of %d", n, writers*each)
	}
}

// A draft that was overtaken is made again, from the newer revision.
func TestAnOvertakenDraftIsMadeAgain(t *testing.T) {
	t.Parallel()
	store := registry.NewStore(approve)
	var calls atomic.Int32
	rev, err := store.Publish(t.Context(), func(d *registry.Draft) error {
		if calls.Add(1) == 1 {
			if _, err := store.Publish(t.Context(), full); err != nil {
				return err
			}
		}
		d.Agents.Put("late", &spec.Agent{ID: "late"})
		return nil
	})
	if err != nil || calls.Load() != 2 || rev.Number() != 2 {
		t.Fatalf("Publish = %v, %v after %d edits", rev, err, calls.Load())
	}
	if diff := cmp.Diff([]string{"a", "late"}, rev.Set().AgentIDs()); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
}

// What a publish does not touch stays: pools too, which drafts are known to
// lose elsewhere.
func TestAPublishKeepsEveryKindOfEntry(t *testing.T) {
	t.Parallel()
	store := registry.NewStore(approve)
	first, err := store.Publish(t.Context(), full)
	if err != nil {
		t.Fatal(err)
	}
	second, err := store.Publish(t.Context(), func(d *registry.Draft) error {
		d.Providers.Put("p", executor{secret: "another"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	count := func(s *registry.Set) []int {
		return []int{s.Agents.Len(), s.Models.Len(), s.Pools.Len(), s.Providers.Len(), s.Tools.Len(), s.Plugins.Len(), s.Sources.Len(), len(s.Available)}
	}
	if diff := cmp.Diff(count(first.Set()), count(second.Set())); diff != "" || second.Set().Defaults == nil {
		t.Errorf("something was lost (-before +after):\n%s", diff)
	}
	if first.Set() == second.Set() {
		t.Error("both revisions have one set")
	}
	if old, _ := first.Set().Providers.Get("p"); old != any(executor{secret: "sk-secret"}) {
		t.Errorf("the old revision has the new provider: %v", old)
	}
}

func TestAStoreWithoutACheckPublishes(t *testing.T) {
	t.Parallel()
	if rev, err := registry.NewStore(nil).Publish(t.Context(), full); err != nil || rev.Number() != 1 {
		t.Errorf("Publish = %v, %v", rev, err)
	}
}

func TestPublishUncheckedAsksNobody(t *testing.T) {
	t.Parallel()
	store := registry.NewStore(func(context.Context, *registry.Revision) (diag.List, error) {
		t.Error("the dry run was asked")
		return nil, nil
	})
	if rev, err := store.PublishUnchecked(t.Context(), full); err != nil || rev.Diagnostics() != nil {
		t.Errorf("PublishUnchecked = %v, %v", rev, err)
	}
}

func TestARevisionKeepsWhatItsDryRunFound(t *testing.T) {
	t.Parallel()
	warning := diag.New(diag.NoTools, "agents.a", "it has none")
	store := registry.NewStore(func(context.Context, *registry.Revision) (diag.List, error) { return diag.List{warning}, nil })
	rev, err := store.Publish(t.Context(), full)
	if err != nil || !cmp.Equal(rev.Diagnostics(), diag.List{warning}) {
		t.Errorf("Publish = %v, %v", rev.Diagnostics(), err)
	}
}
