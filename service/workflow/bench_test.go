package workflow_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	engine "github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/store"
)

// BenchmarkSchedulesDueAtOnce measures how late the last of 1,000 runs begins that are due
// at the same moment, and the first step of the last, and when all have ended.
func BenchmarkSchedulesDueAtOnce(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchmarkDueAtOnce(b, "store: {driver: sqlite, data_dir: ./data}\n") })
	b.Run("postgres", func(b *testing.B) {
		benchmarkDueAtOnce(b, fmt.Sprintf("store: {driver: postgres, dsn: %q}\n", pgtest.Start(b).Database(b)))
	})
}

func benchmarkDueAtOnce(b *testing.B, kept string) {
	const count = 1000
	var text strings.Builder
	text.WriteString(kept + "workflows:\n")
	for i := range count {
		fmt.Fprintf(&text, "  w%d: {schedules: [{cron: \"@every 30s\"}], steps: [{id: s, agent: {agent: writer, prompt: Hello., tools: []}}]}\n", i)
	}
	for range b.N {
		dir := b.TempDir()
		w := openIn(b, dir, strings.ReplaceAll(text.String(), "./", dir+"/"), "fallback: {text: Hi.}")
		runs := w.awaitRuns(count)
		var begun, stepped, ended time.Duration
		for _, r := range runs {
			whole, err := w.GetRun(b.Context(), team, r.ID)
			if err != nil {
				b.Fatal(err)
			}
			stepped = max(stepped, whole.Steps[0].StartedAt.Sub(r.Trigger.ScheduledFor))
			begun = max(begun, r.StartedAt.Sub(r.Trigger.ScheduledFor))
			ended = max(ended, r.FinishedAt.Sub(r.Trigger.ScheduledFor))
		}
		b.ReportMetric(float64(begun.Milliseconds()), "begun-ms")
		b.ReportMetric(float64(stepped.Milliseconds()), "stepped-ms")
		b.ReportMetric(float64(ended.Milliseconds()), "ended-ms")
	}
}

// awaitRuns waits until so many runs have succeeded, and returns them.
func (w *world) awaitRuns(count int) (list []*engine.Run) {
	w.Helper()
	again := time.NewTicker(250 * time.Millisecond)
	defer again.Stop()
	for late := time.After(2 * time.Minute); ; {
		list = list[:0]
		for after := ""; ; {
			page, next, err := w.ListRuns(w.Context(), team, engine.RunQuery{Status: string(store.RunSucceeded), Limit: store.MaxPage, After: after})
			if err != nil {
				w.Fatal(err)
			}
			list = append(list, page...)
			if after = next; next == "" {
				break
			}
		}
		if len(list) >= count {
			return list
		}
		select {
		case <-again.C:
		case <-late:
			rest, _, _ := w.ListRuns(w.Context(), team, engine.RunQuery{})
			data, _ := json.Marshal(rest)
			w.Fatalf("%d of %d runs have succeeded; the others are %.2000s", len(list), count, data)
		}
	}
}
