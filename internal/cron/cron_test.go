package cron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/cron"
)

func TestParseRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ expression, zone, want string }{
		{"every day", "", `cron "every day"`},
		{"", "", `cron ""`},
		{"TZ=0", "", "the time zone is a field of its own"},
		{"CRON_TZ=UTC 0 9 * * *", "", "the time zone is a field of its own"},
		{"0 9 * * *", "Europe/Atlantis", `time zone "Europe/Atlantis"`},
	} {
		if _, err := cron.Parse(tt.expression, tt.zone); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q, %q) = %v, want an error with %q", tt.expression, tt.zone, err, tt.want)
		}
	}
}

func TestNextIsInTheTimeZone(t *testing.T) {
	t.Parallel()
	times, err := cron.Parse("0 9 * * *", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	// 08:30 in Berlin, on the day the clocks go forward.
	after := time.Date(2026, time.March, 29, 6, 30, 0, 0, time.UTC)
	if next, want := times.Next(after), time.Date(2026, time.March, 29, 7, 0, 0, 0, time.UTC); !next.Equal(want) {
		t.Errorf("the next time is %s, want %s", next, want)
	}
}
