package workflow

import (
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/internal/cron"
)

// Times are the moments at which a schedule is due. They are immutable and safe for concurrent use.
type Times struct {
	*cron.Times
	// every is the interval of @every, whose times are counted from the moment given. It is 0 for
	// all other expressions.
	every time.Duration
}

// Times returns when the schedule is due.
func (s *Schedule) Times() (*Times, error) {
	times, err := cron.Parse(s.Cron, s.TimeZone)
	if err != nil {
		return nil, err
	}
	return &Times{Times: times, every: times.Every()}, nil
}

// alignTo returns a moment such that the times after it are those that follow an anchor: the moment
// itself or, for @every, the last time before it.
func (t *Times) alignTo(anchor, at time.Time) time.Time {
	if t.every <= 0 || !at.After(anchor) {
		return at
	}
	anchor = anchor.Truncate(time.Second)
	return anchor.Add(at.Sub(anchor) / t.every * t.every)
}

// onTime is how late a run may begin before its time counts as missed.
const onTime = time.Minute

// Due returns the times after a moment, up to now, for which to start runs: times that have just
// come, and missed times that the schedule catches up on.
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
	if len(list) > maxMissed {
		list = list[len(list)-maxMissed:]
	}
	return list
}

// between returns the times after one moment and up to another. If there are more than maxMissed,
// it keeps at least the latest maxMissed.
func (t *Times) between(after, until time.Time) []time.Time {
	var list []time.Time
	for next := t.Next(after); !next.IsZero() && !next.After(until); next = t.Next(next) {
		if list = append(list, next); len(list) == 2*maxMissed {
			list = append(list[:0], list[maxMissed:]...)
		}
	}
	return list
}

// latest returns the last time after one moment and up to another. It looks back in growing
// intervals, so that a frequent schedule costs no more than a rare one.
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
