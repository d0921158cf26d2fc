package rules

import (
	"cmp"
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// defaultPrune is from how many sessions, turns and keys one call deletes.
const defaultPrune = 1000

// Cutoff is what is too old to keep.
type Cutoff struct {
	// Before is the time before which a record is too old, and Latest the one
	// before which it is although a webhook has not reported all of it.
	Before, Latest time.Time
	// Limit is how many records may be deleted.
	Limit int
}

// Pruner deletes what is too old, and returns how much that was.
type Pruner struct {
	Sessions, Events, Keys, Revisions func(ctx context.Context, c Cutoff) (int, error)
}

// Prune deletes what the retention says is too old. What was deleted before an
// error is counted.
func Prune(ctx context.Context, r store.Retention, p Pruner) (done store.Pruned, err error) {
	for _, part := range []struct {
		age    time.Duration
		delete func(context.Context, Cutoff) (int, error)
		count  *int
	}{
		{r.Sessions, p.Sessions, &done.Sessions},
		{r.Events, p.Events, &done.Turns},
		{r.Keys, p.Keys, &done.Keys},
		{r.Revisions, p.Revisions, &done.Revisions},
	} {
		if part.age <= 0 {
			continue
		}
		before := r.Now.Add(-part.age)
		c := Cutoff{Before: before, Latest: before.Add(-store.WebhookHold), Limit: cmp.Or(r.Limit, defaultPrune)}
		if *part.count, err = part.delete(ctx, c); err != nil {
			return done, err
		}
	}
	return done, nil
}
