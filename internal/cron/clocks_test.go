package cron_test

import (
	"archive/zip"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/cron"
	"pgregory.net/rapid"
)

// changingZones returns the time zones whose clocks have changed since 1970.
func changingZones(t *testing.T) []string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	zones, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer zones.Close()
	var names []string
	for _, f := range zones.File {
		zone, err := time.LoadLocation(f.Name)
		if err != nil {
			continue // a directory
		}
		if _, end := time.Unix(0, 0).In(zone).ZoneBounds(); !end.IsZero() {
			names = append(names, f.Name)
		}
	}
	if len(names) < 300 {
		t.Fatalf("only %d zones", len(names))
	}
	return names
}

type date struct {
	year  int
	month time.Month
	day   int
}

func dateOf(at time.Time) (d date) {
	d.year, d.month, d.day = at.Date()
	return d
}

// checkOncePerDay checks that a daily schedule is due once on each date of a time zone between two
// moments, except on their own dates.
func checkOncePerDay(zone *time.Location, hour, minute int, from, until time.Time) error {
	times, err := cron.Parse(fmt.Sprintf("%d %d * * *", minute, hour), zone.String())
	if err != nil {
		return err
	}
	from, until = from.In(zone), until.In(zone)
	due, last := map[date]int{}, from
	for at := times.Next(from); !at.After(until); at = times.Next(at) {
		if !at.After(last) {
			return fmt.Errorf("%s follows %s", at, last)
		}
		last = at
		due[dateOf(at)]++
	}
	wanted := map[date]bool{dateOf(until): true}
	for at := from; !at.After(until); at = at.Add(15 * time.Minute) {
		wanted[dateOf(at)] = true
	}
	for d, n := range due {
		if n > 1 {
			return fmt.Errorf("due %d times on %v", n, d)
		}
		if !wanted[d] {
			return fmt.Errorf("due on %v, which %s does not have", d, zone)
		}
	}
	for d := range wanted {
		if due[d] == 0 && d != dateOf(from) && d != dateOf(until) {
			return fmt.Errorf("not due on %v", d)
		}
	}
	return nil
}

func TestADailyScheduleIsDueOnceADayWhereClocksChange(t *testing.T) {
	t.Parallel()
	for _, name := range changingZones(t) {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(0, 0).In(zone)
		for range 400 {
			_, change := at.ZoneBounds()
			if change.IsZero() || change.Year() > 2038 {
				break
			}
			before := change.Add(-time.Second).In(zone)
			for _, clock := range []time.Time{before.Add(-30 * time.Minute), before, change.In(zone), change.In(zone).Add(30 * time.Minute), time.Date(2026, 1, 1, 0, 0, 0, 0, zone)} {
				if err := checkOncePerDay(zone, clock.Hour(), clock.Minute(), change.Add(-50*time.Hour), change.Add(50*time.Hour)); err != nil {
					t.Errorf("%s, daily at %s, clocks change at %s: %v", name, clock.Format("15:04"), change, err)
				}
			}
			at = change.In(zone)
		}
	}
}

func TestPropertyADailyScheduleIsDueOnceADay(t *testing.T) {
	t.Parallel()
	names := changingZones(t)
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(names).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		from := time.Unix(rapid.Int64Range(0, 2_200_000_000).Draw(t, "from"), 0)
		until := from.Add(time.Duration(rapid.IntRange(0, 400*24*60).Draw(t, "minutes")) * time.Minute)
		if err := checkOncePerDay(zone, rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(0, 59).Draw(t, "minute"), from, until); err != nil {
			t.Fatal(err)
		}
	})
}

// dueTimes returns the first n times after a moment.
func dueTimes(t *testing.T, expression, zone, after string, n int) []string {
	t.Helper()
	times, err := cron.Parse(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for range n {
		at = times.Next(at)
		list = append(list, at.Format("01-02 15:04 MST"))
	}
	return list
}

func TestSchedulesWhereClocksChange(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ expression, zone, after, want string }{
		"back: daily is due once":              {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "10-25 02:30 CEST, 10-26 02:30 CET"},
		"back: the second hour is not asked":   {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "10-26 02:30 CET, 10-27 02:30 CET"},
		"back: hourly is due in both":          {"0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", "10-25 02:00 CEST, 10-25 02:00 CET, 10-25 03:00 CET"},
		"back over midnight":                   {"30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00:00Z", "02-17 23:30 -02, 02-18 23:30 -03"},
		"forward: daily is due at the change":  {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "03-29 03:00 CEST, 03-30 02:30 CEST"},
		"forward: two skipped times are one":   {"15,45 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "03-29 03:00 CEST, 03-30 02:15 CEST"},
		"forward: hourly skips the hour":       {"0 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "03-29 03:00 CEST, 03-29 04:00 CEST"},
		"forward: @daily without a midnight":   {"@daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "11-04 01:00 -02, 11-05 00:00 -02"},
		"a date that the zone skips":           {"0 9 * * *", "Pacific/Apia", "2011-12-29T22:00:00Z", "12-31 09:00 +14, 01-01 09:00 +14"},
		"29 February over 2100":                {"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "02-29 00:00 UTC"},
		"a day of the month and of the week":   {"0 9 13 * 5", "UTC", "2026-11-01T00:00:00Z", "11-06 09:00 UTC, 11-13 09:00 UTC, 11-20 09:00 UTC"},
		"7 is Sunday":                          {"0 9 * * 7", "UTC", "2026-11-01T10:00:00Z", "11-08 09:00 UTC, 11-15 09:00 UTC"},
		"7 ends a range":                       {"0 9 * * 5-7", "UTC", "2026-11-01T10:00:00Z", "11-06 09:00 UTC, 11-07 09:00 UTC, 11-08 09:00 UTC, 11-13 09:00 UTC"},
		"7 ends a range of names, with a step": {"0 9 * * wed-7/2,1", "UTC", "2026-11-01T10:00:00Z", "11-02 09:00 UTC, 11-04 09:00 UTC, 11-06 09:00 UTC, 11-08 09:00 UTC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(dueTimes(t, tt.expression, tt.zone, tt.after, strings.Count(tt.want, ",")+1), ", "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAScheduleThatIsNeverDueIsFound(t *testing.T) {
	t.Parallel()
	for expression, never := range map[string]bool{
		"0 0 31 2 *": true, "0 0 30,31 2 *": true, "0 0 31 4,6,9,11 *": true, "* * 30 2 *": true,
		"0 0 29 2 *": false, "0 0 31 2 1": false, "0 0 31 1,2 *": false, "@daily": false, "@every 1h": false, "* * * * *": false,
	} {
		times, err := cron.Parse(expression, "Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		if times.Never() != never {
			t.Errorf("Never of %q is %t", expression, !never)
		}
	}
}
