package storetest

import (
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var replicaTests = []test{
	{name: "ReplicasAreLiveUntilTheirLeaseEnds", run: replicasAreLiveUntilTheirLeaseEnds},
	{name: "AReplicaThatReportsAgainIsLiveOnce", run: aReplicaThatReportsAgainIsLiveOnce},
}

// replicasOf returns the store as store.Replicas, and skips the test if the store is not one.
func replicasOf(f *fixture) store.Replicas {
	f.Helper()
	s, ok := f.Store.(store.Replicas)
	if !ok {
		f.Skip("the store has one process")
	}
	return s
}

// liveReplicas returns the ids of the live replicas.
func liveReplicas(f *fixture) (ids []string) {
	f.Helper()
	list, err := replicasOf(f).LiveReplicas(f.Context())
	wantOK(f, err)
	for _, r := range list {
		if age := time.Since(r.SeenAt); age < -patience || age > patience {
			f.Errorf("replica %s was seen at %v", r.ID, r.SeenAt)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

func replicasAreLiveUntilTheirLeaseEnds(f *fixture) {
	s := replicasOf(f)
	wantEqual(f, "the replicas at first", liveReplicas(f), nil)
	for _, id := range []string{"worker-2", "worker-1", "gone"} {
		wantOK(f, s.ReportReplica(f.Context(), id, time.Hour))
	}
	wantEqual(f, "the replicas", liveReplicas(f), []string{"gone", "worker-1", "worker-2"})
	wantOK(f, s.ReportReplica(f.Context(), "gone", 0))
	wantEqual(f, "those that did not leave", liveReplicas(f), []string{"worker-1", "worker-2"})
	wantOK(f, s.ReportReplica(f.Context(), "worker-1", brief))
	f.eventually("the short lease ends", func() bool { return slices.Equal(liveReplicas(f), []string{"worker-2"}) })
}

func aReplicaThatReportsAgainIsLiveOnce(f *fixture) {
	s := replicasOf(f)
	wantOK(f, s.ReportReplica(f.Context(), "worker", time.Hour))
	before, err := s.LiveReplicas(f.Context())
	wantOK(f, err)
	wantOK(f, s.ReportReplica(f.Context(), "worker", time.Hour))
	after, err := s.LiveReplicas(f.Context())
	wantOK(f, err)
	if len(before) != 1 || len(after) != 1 || !after[0].SeenAt.After(before[0].SeenAt) {
		f.Errorf("the replicas were %v, and are %v", before, after)
	}
}
