package evals_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/model"
)

// The limits of 1,000 replayed cases.
const (
	replayedCases = 1000
	maxReplayTime = 20 * time.Second
	// maxKeptBytes is the maximum retained memory per result.
	maxKeptBytes = 16 << 10
)

func TestAThousandRecordedCasesAreReplayedInFlatMemory(t *testing.T) {
	dir := t.TempDir()
	var cases []string
	for i := range replayedCases {
		cases = append(cases, fmt.Sprintf("c%d: {agent: clerk, turns: [{prompt: question %d, expect: {text: {contains: [fine]}}}]}", i, i))
	}
	suite := loadCasesIn(t, dir, strings.Join(cases, "\n"))
	recording := newShop(t, &answering{answer: func(*model.Request) string { return "fine" }})
	runAll(t, &evals.Runner{Runtime: recording.runtime, Suite: suite, Mode: evals.ModeRecord, Parallel: 2})
	kept := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early uint64
	n := 0
	begun := time.Now()
	results := runAll(t, &evals.Runner{Runtime: newShop(t, unasked{t}).runtime, Suite: suite, Parallel: 2, OnResult: func(*evals.Result) {
		if n++; n == replayedCases/5 {
			early = kept()
		}
	}})
	took, late := time.Since(begun), kept()
	if sum := evals.NewReport(results, nil, 0).Summary; sum.Passed != replayedCases {
		t.Errorf("%+v", sum)
	}
	growth := (int64(late) - int64(early)) / (replayedCases * 4 / 5)
	t.Logf("%d cases in %s; each keeps %d bytes", replayedCases, took, growth)
	if took > maxReplayTime || growth > maxKeptBytes {
		t.Errorf("%d cases need %s, and each keeps %d bytes", replayedCases, took, growth)
	}
}
