package cron_test

import (
	"math"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/cron"
)

func TestShortestGap(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for expression, want := range map[string]time.Duration{
		"* * * * *":         time.Minute,
		"*/5 * * * *":       5 * time.Minute,
		"*/7 * * * *":       4 * time.Minute, // from minute 56 to the next hour
		"0,1 0 1 1 *":       time.Minute,
		"@hourly":           time.Hour,
		"@daily":            day,
		"0 7 * * 1":         7 * day,
		"0 7 * * 1-5":       day,
		"59 23,0 * * *":     time.Hour,
		"0,59 0,23 * * 1,2": time.Minute, // from Monday to Tuesday
		"0,59 0,23 * * 1,3": 59 * time.Minute,
		"0 0,12 29,1 2,3 *": 12 * time.Hour,
		"0 6,18 * * *":      12 * time.Hour,
		"0 1,23 * * *":      2 * time.Hour,
		"0 0 30 2 *":        math.MaxInt64,
		"@every 90s":        90 * time.Second,
		"@every 1h":         time.Hour,
	} {
		times, err := cron.Parse(expression, "Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		if got := times.ShortestGap(); got != want {
			t.Errorf("%s has a gap of %s, want %s", expression, got, want)
		}
	}
}
