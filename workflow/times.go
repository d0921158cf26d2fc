package workflow

import (
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/cron"
)

// Times are the moments at which a schedule is due. They are immutable and safe from many
// goroutines.
type Times struct {
	times *cron.Times
	zone  *time.Location
	// repeats is set if the schedule is due in every hour anyway, so that an hour that
	// clocks repeat is no other than the rest.
	repeats bool
	// every is the distance between the times of @every, which has no others to go by: they
	// are counted from the moment that is asked about. It is 0 for all else.
	every time.Duration
}

// Times returns when the schedule is due.
func (s *Schedule) Times() (*Times, error) {
	times, err := cron.Parse(s.Cron, s.TimeZone)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(s.Cron)
	repeats := len(fields) < 5 && !isDaily(s.Cron) || len(fields) >= 5 && strings.HasPrefix(fields[1], "*")
	t := &Times{times: times, zone: zone, repeats: repeats}
	if strings.HasPrefix(s.Cron, "@every") {
		var epoch time.Time
		t.every = times.Next(epoch).Sub(epoch)
	}
	return t, nil
}

// alignTo returns a moment from which the times are those that follow on another one: the
// moment itself, or, for @every, the last time before it.
func (t *Times) alignTo(anchor, at time.Time) time.Time {
	if t.every <= 0 || !at.After(anchor) {
		return at
	}
	anchor = anchor.Truncate(time.Second)
	return anchor.Add(at.Sub(anchor) / t.every * t.every)
}

// isDaily reports whether an expression is one of those that are due at midnight.
func isDaily(expression string) bool {
	return !strings.HasPrefix(expression, "@every") && expression != "@hourly"
}

// Next returns the first of the times after a moment; the zero time if there is no later
// one. Where clocks are put back, what is due at a certain hour is due the first time
// alone.
func (t *Times) Next(after time.Time) time.Time {
	for {
		next := t.times.Next(after)
		if next.IsZero() || t.repeats || !t.isSecond(next) {
			return next
		}
		after = next
	}
}

// isSecond reports whether clocks show a time for the second time.
func (t *Times) isSecond(at time.Time) bool {
	const shift = 3 * time.Hour // no zone puts clocks back by more at once
	now := at.In(t.zone)
	_, before := now.Add(-shift).Zone()
	_, offset := now.Zone()
	if before <= offset {
		return false
	}
	first := now.Add(-time.Duration(before-offset) * time.Second)
	_, then := first.Zone()
	return then == before && first.Hour() == now.Hour() && first.Minute() == now.Minute()
}

// onTime is how late a run may begin that is not one for a missed time.
const onTime = time.Minute

// Due returns the times after a moment, up to now, for which runs begin: those that have
// just come, and of those that were missed what the schedule makes up for.
func (s *Schedule) Due(t *Times, after, now time.Time) []time.Time {
	recent := t.alignTo(after, now.Add(-onTime))
	if after.After(recent) {
		recent = after
	}
	list := t.between(recent, now)
	switch {
	case s.Missed == MissedAll:
		list = slices.Concat(t.between(after, recent), list)
	case s.Missed == MissedLatest && len(list) == 0: // else a later one has just come
		list = t.latest(after, recent)
	}
	if len(list) > MaxMissed {
		list = list[len(list)-MaxMissed:]
	}
	return list
}

// between returns the times after a moment, up to another one: the latest MaxMissed.
func (t *Times) between(after, until time.Time) []time.Time {
	var list []time.Time
	for next := t.Next(after); !next.IsZero() && !next.After(until); next = t.Next(next) {
		if list = append(list, next); len(list) == 2*MaxMissed {
			list = append(list[:0], list[MaxMissed:]...)
		}
	}
	return list
}

// latest returns the last of the times after a moment, up to another one. It looks back
// further and further, so that a frequent schedule costs no more than a rare one.
func (t *Times) latest(after, until time.Time) []time.Time {
	for span := time.Minute; ; span *= 8 {
		from := t.alignTo(after, until.Add(-span))
		last := !from.After(after)
		if last {
			from = after
		}
		if list := t.between(from, until); len(list) > 0 {
			return list[len(list)-1:]
		}
		if last {
			return nil
		}
	}
}
