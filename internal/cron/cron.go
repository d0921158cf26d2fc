// Package cron parses the times of schedules: a cron expression and a time zone.
package cron

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Times are the moments when a schedule is due. They are immutable and safe for concurrent use.
type Times struct {
	when cron.Schedule
	zone *time.Location
	// daily has the fields of a schedule with fixed hours. It is nil for intervals, such as
	// every ten minutes.
	daily *cron.SpecSchedule
}

// Parse returns the times of an expression in a time zone. The expression has five fields, or is a
// descriptor such as @hourly, @daily or @every 10m; the zone is an IANA name, and UTC if empty.
func Parse(expression, timeZone string) (*Times, error) {
	if n := len(expression) + len(timeZone); n > maxExpression {
		return nil, fmt.Errorf("cron and its time zone have %d bytes; at most %d are allowed", n, maxExpression)
	}
	zone, err := time.LoadLocation(timeZone)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", timeZone, err)
	}
	if strings.HasPrefix(expression, "TZ=") || strings.HasPrefix(expression, "CRON_TZ=") {
		return nil, fmt.Errorf("cron %q: the time zone is a separate field", expression)
	}
	if span, ok := strings.CutPrefix(expression, "@every "); ok {
		if d, err := time.ParseDuration(span); err == nil && (d < time.Second || d%time.Second != 0) {
			return nil, fmt.Errorf("cron %q: %w", expression, errNoSeconds)
		}
	}
	fields := strings.Fields(expression)
	when, err := cron.ParseStandard(withSunday(expression, fields))
	if invalid := checkFields(fields); invalid != nil {
		err = invalid
	}
	if err != nil {
		return nil, fmt.Errorf("cron %q: %w", expression, err)
	}
	t := &Times{when: when, zone: zone}
	everyHour := len(fields) == 5 && strings.HasPrefix(fields[1], "*")
	if spec, ok := when.(*cron.SpecSchedule); ok && !everyHour && hoursOf(spec) != allHours {
		t.daily = spec
	}
	return t, nil
}

// maxExpression limits an expression with its time zone, in bytes. An expression with all values of
// all fields has less than 500.
const maxExpression = 1024

var errNoSeconds = errors.New("the duration must be one or more whole seconds")

// withSunday returns an expression in which the weekday 7 is replaced by 0, since both mean Sunday.
func withSunday(expression string, fields []string) string {
	if len(fields) != 5 || !strings.Contains(fields[4], "7") {
		return expression
	}
	parts := strings.Split(fields[4], ",")
	for i, part := range parts {
		days, step, _ := strings.Cut(part, "/")
		first, last, isRange := strings.Cut(days, "-")
		switch {
		case days == "7":
			parts[i] = "0"
		case isRange && last == "7":
			parts[i] = expandWeekdays(part, first, step)
		}
	}
	return strings.Join(append(fields[:4:4], strings.Join(parts, ",")), " ")
}

// expandWeekdays lists the days from first to Sunday. It returns an unreadable part unchanged, for
// the parser to reject.
func expandWeekdays(part, first, step string) string {
	day, err := strconv.Atoi(first)
	if err != nil {
		day = strings.Index("sunmontuewedthufrisat", strings.ToLower(first))
		if len(first) != 3 || day < 0 || day%3 != 0 {
			return part
		}
		day /= 3
	}
	by := 1
	if step != "" {
		if by, err = strconv.Atoi(step); err != nil {
			return part
		}
	}
	if day < 0 || day > 7 || by < 1 {
		return part
	}
	var list []string
	for ; day <= 7; day += by {
		list = append(list, strconv.Itoa(day%7))
	}
	return strings.Join(list, ",")
}

// Every returns the interval of an @every expression, and 0 for all other expressions.
func (t *Times) Every() time.Duration {
	delay, _ := t.when.(cron.ConstantDelaySchedule)
	return delay.Delay
}

// Never reports whether the schedule is never due, such as on 31 February.
func (t *Times) Never() bool {
	return t.Next(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero()
}

// Next returns the first time after a moment; the zero time if no time follows. A schedule at fixed
// hours runs once for each of them, even when clocks change: at the first occurrence of a repeated
// hour, and at the change for a skipped one.
func (t *Times) Next(after time.Time) time.Time {
	after = after.In(t.zone)
	if t.daily == nil {
		return t.when.Next(after)
	}
	year, month, day := after.AddDate(0, 0, -1).Date() // clocks may be set back across midnight
	for i := range maxDays {
		date := time.Date(year, month, day+i, 12, 0, 0, 0, time.UTC)
		if !isDueOn(t.daily, date) {
			continue
		}
		if due := t.nextOn(date, after); !due.IsZero() {
			return due
		}
	}
	return time.Time{}
}

// maxDays is the number of days to search. 29 February can be eight years away.
const maxDays = 8*366 + 2

// nextOn returns the first time on a date after a moment, or the zero time.
func (t *Times) nextOn(date, after time.Time) time.Time {
	for hours := hoursOf(t.daily); hours != 0; hours &= hours - 1 {
		for minutes := t.daily.Minute & (1<<60 - 1); minutes != 0; minutes &= minutes - 1 {
			if due := t.at(date, bits.TrailingZeros64(hours), bits.TrailingZeros64(minutes)); due.After(after) {
				return due
			}
		}
	}
	return time.Time{}
}

// at returns when clocks first show a time on a date. If they skip the time, it returns when they
// are set forward, or the last minute of the date before that; if they skip the date, the zero
// time.
func (t *Times) at(date time.Time, hour, minute int) time.Time {
	year, month, day := date.Date()
	due := time.Date(year, month, day, hour, minute, 0, 0, t.zone)
	change, end := due.ZoneBounds()
	shown := time.Date(due.Year(), due.Month(), due.Day(), due.Hour(), due.Minute(), 0, 0, time.UTC)
	switch shown.Compare(time.Date(year, month, day, hour, minute, 0, 0, time.UTC)) {
	case 0:
		return firstOf(due, change)
	case -1: // due is before the change
		change = end
	}
	for _, moment := range []time.Time{change, change.Add(-time.Minute)} {
		if y, m, d := moment.Date(); y == year && m == month && d == day {
			return moment
		}
	}
	return time.Time{}
}

// firstOf returns the earlier of two moments with the same clock time, if one precedes and one
// follows the clock change at start; otherwise it returns due.
func firstOf(due, start time.Time) time.Time {
	if start.IsZero() {
		return due
	}
	_, now := due.Zone()
	_, before := start.Add(-time.Second).Zone()
	if first := due.Add(time.Duration(now-before) * time.Second); first.Before(start) {
		return first
	}
	return due
}

// starBit is set in a field of cron.SpecSchedule that is a star.
const starBit = 1 << 63

const allHours = 1<<24 - 1

func hoursOf(s *cron.SpecSchedule) uint64 { return s.Hour & allHours }

// isDueOn reports whether a schedule is due on a date. If both the day of the month and the day of
// the week are given, either suffices.
func isDueOn(s *cron.SpecSchedule, date time.Time) bool {
	if s.Month&(1<<date.Month()) == 0 {
		return false
	}
	ofMonth, ofWeek := s.Dom&(1<<date.Day()) != 0, s.Dow&(1<<date.Weekday()) != 0
	if s.Dom&starBit != 0 || s.Dow&starBit != 0 {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}
