package rules

import (
	"cmp"
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// defaultPrune is how many sessions, turns and keys one call prunes by default.
const defaultPrune = 1000

// Cutoff has the times before which records are expired.
type Cutoff struct {
	// Before is the cutoff for records, and Latest the cutoff for records that a webhook has not
	// fully reported.
	Before, Latest time.Time
	// Limit is how many records may be deleted.
	Limit int
}

// Pruner deletes expired records, and returns their number.
type Pruner struct {
	Sessions, Events, Keys, Revisions, Usage func(ctx context.Context, c Cutoff) (int, error)
}

// Prune deletes the records that have expired under the retention. It counts deletions that precede
// an error.
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
		{r.Usage, p.Usage, &done.Usage},
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
