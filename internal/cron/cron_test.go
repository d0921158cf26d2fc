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
		{"TZ=0", "", "the time zone is a separate field"},
		{"CRON_TZ=UTC 0 9 * * *", "", "the time zone is a separate field"},
		{"@every 0s", "", "the duration must be one or more whole seconds"},
		{"@every -1h", "", "the duration must be one or more whole seconds"},
		{"@every 1ns", "", "the duration must be one or more whole seconds"},
		{"@every 999ms", "", "the duration must be one or more whole seconds"},
		{"@every 1m0.5s", "", "the duration must be one or more whole seconds"},
		{"0 9 * * 8", "", `cron "0 9 * * 8": the day of the week "8" is invalid: values are 0 to 7, where 0 and 7 are Sunday, or sun to sat;`},
		{"0 9 * * 7-1", "", `the day of the week "7-1" is invalid`},
		{"0 9 * * x-7", "", `the day of the week "x-7" is invalid`},
		{"0 9 * * 1-7/0", "", `the day of the week "1-7/0" is invalid`},
		{"0 9 * foo *", "", `the month "foo" is invalid: values are 1 to 12, or jan to dec;`},
		{"0 9 0 * *", "", `the day of the month "0" is invalid: values are 1 to 31;`},
		{"0 24 * * *", "", `the hour "24" is invalid: values are 0 to 23;`},
		{"60 9 * * *", "", `the minute "60" is invalid: values are 0 to 59;`},
		{"20-10 9 * * *", "", `the minute "20-10" is invalid`},
		{", 9 * * *", "", `the minute "," is invalid`},
		{"0 9 * * 1,,7", "", `the day of the week "1,,7" is invalid`},
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

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"30 2 * * *", "0 9 * * 5-7/2", "@every -1h", "0 0 31 2 *", "@daily", "*/5 0-23 1,15 jan-mar sun"} {
		f.Add(seed, "Europe/Berlin")
	}
	f.Fuzz(func(t *testing.T, expression, zone string) {
		times, err := cron.Parse(expression, zone)
		if err != nil {
			return
		}
		after := time.Date(2026, time.March, 28, 0, 0, 0, 0, time.UTC)
		if next := times.Next(after); !next.IsZero() && !next.After(after) {
			t.Fatalf("%q is due at %s, after %s", expression, next, after)
		}
	})
}
