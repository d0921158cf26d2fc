package service_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/postgres"
)

func TestTheQueueShowsIdleReplicas(t *testing.T) {
	t.Parallel()
	settings := store.Settings{DSN: pgtest.Start(t).Database(t)}
	if _, err := postgres.Migrate(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	replica := func(name string) *service.Service {
		st, err := postgres.Open(t.Context(), settings)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		s := service.New(service.Settings{Store: st, Worker: name, Dispatcher: local.New(local.Settings{Concurrency: 1})})
		t.Cleanup(s.Close)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, two := replica("one"), replica("two")
	await := func(s *service.Service, want ...string) {
		t.Helper()
		eventually(t, func() string {
			q, err := s.ReadQueue(t.Context(), service.Operator())
			if err != nil {
				t.Fatal(err)
			}
			var live []string
			for _, w := range q.Workers {
				live = append(live, w.ID)
				if w.Turns != 0 || w.HeartbeatAt.IsZero() {
					t.Errorf("an idle replica is %+v", w)
				}
			}
			if slices.Equal(live, want) {
				return ""
			}
			return fmt.Sprintf("the replicas are %q, want %q", live, want)
		})
	}
	await(one, "one", "two")
	await(two, "one", "two")
	two.Close()
	await(one, "one")
}
