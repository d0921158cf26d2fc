package river

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/pgtest"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type sargs struct {
	TurnID string `json:"turn_id"`
}

func (sargs) Kind() string { return "turn" }

type sworker struct {
	river.WorkerDefaults[sargs]
	f func(id string)
}

func (w *sworker) Work(ctx context.Context, j *river.Job[sargs]) error { w.f(j.Args.TurnID); return nil }

func TestScratch(t *testing.T) {
	ctx := t.Context()
	s := pgtest.Start(t)
	pool, err := pgxpool.New(ctx, s.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		t.Fatal(err)
	}
	for _, cooldown := range []time.Duration{10 * time.Millisecond, 2 * time.Millisecond} {
		workers := river.NewWorkers()
		var mu sync.Mutex
		startAt := map[string]time.Time{}
		got := make(chan string, 100000)
		river.AddWorker(workers, &sworker{f: func(id string) {
			mu.Lock()
			startAt[id] = time.Now()
			mu.Unlock()
			got <- id
		}})
		c, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
			Queues: map[string]river.QueueConfig{"agentruntime": {MaxWorkers: 64}}, Workers: workers,
			FetchCooldown: cooldown, FetchPollInterval: time.Second, JobTimeout: -1, CompletedJobRetentionPeriod: time.Second,
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		opts := &river.InsertOpts{Queue: "agentruntime"}
		apis := map[string]func(tx pgx.Tx, id string) error{
			"fast(copy)": func(tx pgx.Tx, id string) error {
				_, err := c.InsertManyFastTx(ctx, tx, []river.InsertManyParams{{Args: sargs{id}, InsertOpts: opts}})
				return err
			},
			"many": func(tx pgx.Tx, id string) error {
				_, err := c.InsertManyTx(ctx, tx, []river.InsertManyParams{{Args: sargs{id}, InsertOpts: opts}})
				return err
			},
			"raw": func(tx pgx.Tx, id string) error {
				_, err := tx.Exec(ctx, `INSERT INTO river_job (state, args, kind, max_attempts, queue) SELECT 'available', jsonb_build_object('turn_id', id), 'turn', 3, $2 FROM unnest($1::text[]) AS id`, []string{id}, "agentruntime")
				return err
			},
			"raw+notify": func(tx pgx.Tx, id string) error {
				_, err := tx.Exec(ctx, `WITH n AS (SELECT pg_notify(concat(current_schema(), '.river_insert'), '{"queue":"agentruntime"}')) INSERT INTO river_job (state, args, kind, max_attempts, queue) SELECT 'available', jsonb_build_object('turn_id', id), 'turn', 3, $2 FROM unnest($1::text[]) AS id, n`, []string{id}, "agentruntime")
				return err
			},
			"nothing": func(tx pgx.Tx, id string) error { _, err := tx.Exec(ctx, "SELECT 1"); return err },
		}
		// insert cost, client not started
		names := []string{"nothing", "fast(copy)", "many", "raw", "raw+notify"}
		if cooldown == 10*time.Millisecond {
			for _, par := range []int{1, 8} {
				for _, name := range names {
					f := apis[name]
					const n = 800
					begin := time.Now()
					var wg sync.WaitGroup
					for p := range par {
						wg.Go(func() {
							for i := range n / par {
								err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return f(tx, fmt.Sprint(name, p, i)) })
								if err != nil {
									t.Error(err)
								}
							}
						})
					}
					wg.Wait()
					d := time.Since(begin)
					fmt.Printf("par %d %-12s %v per tx, %.0f/s\n", par, name, d/n, n/d.Seconds())
				}
			}
			if _, err := pool.Exec(ctx, "TRUNCATE river_job"); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Start(context.WithoutCancel(ctx)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		for _, name := range names[1:] {
			if name == "raw" {
				continue
			}
			f := apis[name]
			for _, gap := range []time.Duration{0, 4 * time.Millisecond, 50 * time.Millisecond} {
				var lat []time.Duration
				at := map[string]time.Time{}
				clear(startAt)
				for i := range 12 { // pairs with a gap
					for k := range 2 {
						id := fmt.Sprint(name, gap, i, k)
						err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return f(tx, id) })
						if err != nil {
							t.Fatal(err)
						}
						at[id] = time.Now()
						time.Sleep(gap)
					}
					for range 2 {
						<-got
					}
					time.Sleep(30 * time.Millisecond)
				}
				mu.Lock()
				for id, s := range startAt {
					lat = append(lat, s.Sub(at[id]))
				}
				mu.Unlock()
				slices.Sort(lat)
				fmt.Printf("cooldown %v %-10s pair gap %v: p50 %v p90 %v max %v\n", cooldown, name, gap, lat[len(lat)/2], lat[len(lat)*9/10], lat[len(lat)-1])
			}
		}
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		if err := c.Stop(stop); err != nil {
			t.Error(err)
		}
		cancel()
	}
}
