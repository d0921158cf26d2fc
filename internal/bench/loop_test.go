package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
)

// compareRounds is the number of rounds of a comparison. It is odd, so that the
// median is one of the rounds.
const compareRounds = 31

// subject is the subject of a comparison. A call of run performs n operations.
type subject struct {
	run func(n int)
	n   int
}

// cost is the wall-clock and CPU time of one operation of a subject, in nanoseconds.
type cost struct{ wall, cpu float64 }

// compareWithLoop measures turns and the hand-written loop alternately, so that other load on the
// machine affects both. It reports the medians of all rounds: x/loop is the median ratio of a
// round's times, x/loop-spread half the distance between the quartiles of the ratios, and the
// others are per turn and per loop.
func compareWithLoop(b *testing.B, turn, loop subject) {
	b.Helper()
	turns, loops := make([]cost, compareRounds), make([]cost, compareRounds)
	measureRound(b, turn)
	measureRound(b, loop) // warm-up only
	for i := range compareRounds {
		turns[i], loops[i] = measureRound(b, turn), measureRound(b, loop)
	}
	reportRatio(b, turns, loops)
	b.ReportMetric(medianOf(turns, wallTime)/1000, "µs/turn")
	b.ReportMetric(medianOf(loops, wallTime)/1000, "µs/loop")
	b.ReportMetric(medianOf(turns, cpuTime)/1000, "cpu-µs/turn")
	b.ReportMetric(medianOf(loops, cpuTime)/1000, "cpu-µs/loop")
}

func wallTime(c cost) float64 { return c.wall }
func cpuTime(c cost) float64  { return c.cpu }

// reportRatio reports the median of the rounds' ratios and their spread. Both times of a round come
// from the same moment: a shared machine is faster in some rounds.
func reportRatio(b *testing.B, turns, loops []cost) {
	b.Helper()
	ratios := make([]float64, len(turns))
	for i := range turns {
		ratios[i] = turns[i].wall / loops[i].wall
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x/loop")
	b.ReportMetric((ratios[len(ratios)*3/4]-ratios[len(ratios)/4])/2, "x/loop-spread")
}

// measureRound runs a subject once and returns its cost.
func measureRound(b *testing.B, s subject) cost {
	b.Helper()
	used, begun := cpu(b), time.Now()
	s.run(s.n)
	wall := time.Since(begun)
	return cost{wall: float64(wall) / float64(s.n), cpu: float64(cpu(b)-used) / float64(s.n)}
}

func medianOf(costs []cost, of func(cost) float64) float64 {
	values := make([]float64, len(costs))
	for i, c := range costs {
		values[i] = of(c)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// turnSubject runs turns sequentially.
func turnSubject(b *testing.B, rt *runtime.AgentRuntime, past []model.Message) subject {
	req := runtime.Prompt("assistant", question)
	req.History = past
	ctx := b.Context()
	events := 0
	sink := event.SinkFunc(func(event.Event) { events++ })
	return subject{n: 500, run: func(n int) {
		for range n {
			if res, err := rt.Run(ctx, req, sink); err != nil || res.Steps != 2 {
				b.Error(res, err)
				return
			}
		}
	}}
}

// loopSubject runs the floor sequentially.
func loopSubject(b *testing.B, exec model.Executor, past []model.Message) subject {
	ctx := b.Context()
	return subject{n: 2000, run: func(n int) {
		for range n {
			if text, err := floor(ctx, exec, past, nil); err != nil || text == "" {
				b.Error(text, err)
				return
			}
		}
	}}
}
