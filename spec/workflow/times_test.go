package workflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// timesOf returns the times of an expression in a zone.
func timesOf(t testing.TB, s *Schedule) *Times {
	t.Helper()
	times, err := s.Times()
	if err != nil {
		t.Fatal(err)
	}
	return times
}

func at(text string) time.Time {
	if len(text) == len("2006-01-02 15:04") {
		text += ":00"
	}
	when, err := time.Parse(time.DateTime, text)
	if err != nil {
		panic(err)
	}
	return when
}

// In Berlin clocks went from 02:00 to 03:00 on 29 March 2026 (01:00 UTC), and go from 03:00
// to 02:00 on 25 October (01:00 UTC).
func TestClocksThatAreChanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, cron, after string
		want              []string
	}{
		{"what is due in the hour left out is due when the clocks change", "30 2 * * *", "2026-03-27 12:00", []string{"2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30"}},
		{"what is due at its end is not", "0 3 * * *", "2026-03-28 12:00", []string{"2026-03-29 01:00", "2026-03-30 01:00"}},
		{"every hour goes on", "0 * * * *", "2026-03-28 23:30", []string{"2026-03-29 00:00", "2026-03-29 01:00", "2026-03-29 02:00"}},
		{"what is due in the repeated hour is due once", "30 2 * * *", "2026-10-24 12:00", []string{"2026-10-25 00:30", "2026-10-26 01:30"}},
		{"so is the hour itself", "0 2 * * *", "2026-10-24 12:00", []string{"2026-10-25 00:00", "2026-10-26 01:00"}},
		{"the hour after it comes once anyway", "0 3 * * *", "2026-10-24 12:00", []string{"2026-10-25 02:00", "2026-10-26 02:00"}},
		{"every hour is due in both", "0 * * * *", "2026-10-24 23:30", []string{"2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00"}},
		{"so is every quarter", "*/15 * * * *", "2026-10-25 00:30", []string{"2026-10-25 00:45", "2026-10-25 01:00", "2026-10-25 01:15"}},
		{"twice in a certain hour is due the first time alone", "0,30 2 * * *", "2026-10-24 23:59", []string{"2026-10-25 00:00", "2026-10-25 00:30", "2026-10-26 01:00"}},
		{"midnight is no such hour", "@daily", "2026-10-24 12:00", []string{"2026-10-24 22:00", "2026-10-25 23:00"}},
		{"a span takes no notice", "@every 1h", "2026-10-25 00:15", []string{"2026-10-25 01:15", "2026-10-25 02:15"}},
	} {
		times := timesOf(t, &Schedule{Cron: tt.cron, TimeZone: "Europe/Berlin"})
		after := at(tt.after)
		for _, want := range tt.want {
			if after = times.Next(after); !after.Equal(at(want)) {
				t.Errorf("%s: %s is due at %s, want %s", tt.name, tt.cron, after.UTC(), want)
			}
		}
	}
}

func TestMissedTimes(t *testing.T) {
	t.Parallel()
	const hourly = "0 * * * *"
	for _, tt := range []struct {
		name       string
		missed     Missed
		after, now string
		want       []string
	}{
		{"in time", MissedSkip, "2026-06-01 10:00", "2026-06-01 11:00", []string{"11:00"}},
		{"a little late is not missed", MissedSkip, "2026-06-01 10:00", "2026-06-01 11:00:59", []string{"11:00"}},
		{"skipped", MissedSkip, "2026-06-01 10:00", "2026-06-01 14:30", nil},
		{"skipped but for the one that has just come", MissedSkip, "2026-06-01 10:00", "2026-06-01 14:00", []string{"14:00"}},
		{"the latest", MissedLatest, "2026-06-01 10:00", "2026-06-01 14:30", []string{"14:00"}},
		{"the latest is the one that has just come", MissedLatest, "2026-06-01 10:00", "2026-06-01 14:00", []string{"14:00"}},
		{"all", MissedAll, "2026-06-01 10:00", "2026-06-01 14:30", []string{"11:00", "12:00", "13:00", "14:00"}},
		{"none is due", MissedAll, "2026-06-01 10:00", "2026-06-01 10:59", nil},
		{"the clock went back", MissedAll, "2026-06-01 10:00", "2026-06-01 08:00", nil},
	} {
		s := &Schedule{Cron: hourly, Missed: tt.missed}
		var got []string
		for _, due := range s.Due(timesOf(t, s), at(tt.after), at(tt.now)) {
			got = append(got, due.Format("15:04"))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: due are %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, missed := range []Missed{MissedAll, MissedLatest, MissedSkip} {
		s := &Schedule{Cron: "* * * * *", Missed: missed}
		want := map[Missed]int{MissedAll: maxMissed, MissedLatest: 1, MissedSkip: 1}[missed]
		if due := s.Due(timesOf(t, s), at("2025-06-01 10:00"), at("2026-06-01 10:00")); len(due) != want || !due[len(due)-1].Equal(at("2026-06-01 10:00")) {
			t.Errorf("after a year %s makes %d runs, want %d up to now", missed, len(due), want)
		}
	}
}

// anySchedule generates schedules of all kinds, in zones whose clocks change.
func anySchedule(t *rapid.T) *Schedule {
	field := func(name string, least, most int) string {
		return rapid.OneOf(rapid.Just("*"), rapid.Map(rapid.IntRange(2, 12), func(n int) string { return fmt.Sprintf("*/%d", n) }),
			rapid.Map(rapid.IntRange(least, most), func(n int) string { return fmt.Sprint(n) })).Draw(t, name)
	}
	cron := rapid.SampledFrom([]string{"@hourly", "@daily", "@weekly", "@every 7m", "@every 25h", ""}).Draw(t, "short")
	if cron == "" {
		cron = field("minute", 0, 59) + " " + field("hour", 0, 23) + " " + field("day", 1, 28) + " * " + field("weekday", 0, 6)
	}
	zone := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Kathmandu"}).Draw(t, "zone")
	return &Schedule{Cron: cron, TimeZone: zone, Missed: rapid.SampledFrom([]Missed{"", MissedSkip, MissedLatest, MissedAll}).Draw(t, "missed")}
}

// anyTime generates moments of three years, often near those at which clocks change.
func anyTime(t *rapid.T, name string) time.Time {
	near := rapid.SampledFrom([]string{"2026-03-29 01:00", "2026-10-25 01:00", "2026-11-01 06:00", "2026-03-08 07:00", "2026-04-04 15:00", "2027-01-01 00:00"}).Draw(t, name)
	return at(near).Add(time.Duration(rapid.Int64Range(-40*86400, 40*86400).Draw(t, name+" apart")) * time.Second)
}

// The next time is later, does not depend on how often it is asked for on the way, shows
// what the expression says on the clock of the zone, and comes once where the hour does.
func TestPropertyTheNextTimeOfASchedule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := anySchedule(rt)
		times := timesOf(t, s)
		after := anyTime(rt, "after")
		next := times.Next(after)
		if next.IsZero() {
			return // the fields do not meet
		}
		if !next.After(after) {
			rt.Fatalf("%s after %s is %s", s.Cron, after, next)
		}
		if s.Cron[0] != '@' || s.Cron[1] != 'e' {
			between := after.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(after))-1).Draw(rt, "between")))
			if again := times.Next(between); !again.Equal(next) {
				rt.Fatalf("%s in %s after %s is %s, but after %s it is %s", s.Cron, s.TimeZone, after, next, between, again)
			}
		}
		if fields := strings.Fields(s.Cron); len(fields) == 5 && !strings.HasPrefix(fields[1], "*") || s.Cron == "@daily" || s.Cron == "@weekly" {
			other := times.Next(next)
			if other.Format("2006-01-02 15:04") == next.Format("2006-01-02 15:04") && !other.IsZero() {
				rt.Fatalf("%s in %s is due twice on the clock: %s and %s", s.Cron, s.TimeZone, next, other)
			}
		}
	})
}

// The times of @every are counted from the last one, however long ago that was.
func TestEveryIsCountedFromTheLastTime(t *testing.T) {
	t.Parallel()
	for _, missed := range []Missed{MissedSkip, MissedLatest, MissedAll} {
		s := &Schedule{Cron: "@every 7m", TimeZone: "UTC", Missed: missed}
		times, last := timesOf(t, s), at("2026-03-29 01:00")
		if due := s.Due(times, last, last.Add(7*time.Minute)); len(due) != 1 || !due[0].Equal(last.Add(7*time.Minute)) {
			t.Errorf("%q: due in time are %v", missed, due)
		}
		late := s.Due(times, last, last.Add(15*time.Minute))
		want := map[Missed]int{MissedSkip: 0, MissedLatest: 1, MissedAll: 2}
		if len(late) != want[missed] {
			t.Errorf("%q: due late are %v", missed, late)
		}
	}
}

// Whenever a process looks, also after pauses, it begins each time once: what all looks
// together find is what was due, and nothing is found twice.
func TestPropertyLooksAtAScheduleFindEachTimeOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := anySchedule(rt)
		times := timesOf(t, s)
		start := anyTime(rt, "start").Truncate(time.Second)
		now, cursor := start, start
		seen := make(map[int64]bool)
		for i := range rapid.IntRange(1, 8).Draw(rt, "looks") {
			now = now.Add(time.Duration(rapid.Int64Range(-3600, 6*3600).Draw(rt, fmt.Sprint("look ", i))) * time.Second)
			due := s.Due(times, cursor, now)
			if !slices.IsSortedFunc(due, time.Time.Compare) || len(due) > maxMissed {
				rt.Fatalf("due are %v", due)
			}
			for _, one := range due {
				if seen[one.Unix()] || one.After(now) || !one.After(start) {
					rt.Fatalf("%s begins at %s, looked at %s after %s", s.Cron, one, now, cursor)
				}
				seen[one.Unix()] = true
			}
			if now.After(cursor) {
				if s.Missed == MissedAll {
					for next := times.Next(cursor); !next.IsZero() && !next.After(now) && len(due) < maxMissed; next = times.Next(next) {
						if !seen[next.Unix()] {
							rt.Fatalf("%s misses %s", s.Cron, next)
						}
					}
				}
				cursor = now
				if n := len(due); n > 0 {
					cursor = due[n-1]
				}
			}
		}
	})
}
