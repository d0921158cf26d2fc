package cron

import (
	"math"
	"time"

	"github.com/robfig/cron/v3"
)

// ShortestGap returns the shortest time between two of the times, by wall clock. It is the longest
// duration if there are fewer than two.
func (t *Times) ShortestGap() time.Duration {
	if every, ok := t.when.(cron.ConstantDelaySchedule); ok {
		return every.Delay
	}
	const years = 4 // with a leap year
	day := t.when.Next(time.Date(2024, time.January, 1, 0, 0, -1, 0, time.UTC))
	first, last, shortest := day, day, time.Duration(math.MaxInt64)
	for next := t.when.Next(last); !next.IsZero() && isSameDay(next, day); next = t.when.Next(next) {
		shortest, last = min(shortest, next.Sub(last)), next
	}
	// The other days have the same times, so only the nights differ.
	length := last.Sub(first)
	for end := day.AddDate(years, 0, 0); !day.IsZero() && day.Before(end); {
		next := t.when.Next(day.Add(length))
		if next.IsZero() {
			break
		}
		shortest, day = min(shortest, next.Sub(day.Add(length))), next
	}
	return shortest
}

func isSameDay(a, b time.Time) bool {
	return a.YearDay() == b.YearDay() && a.Year() == b.Year()
}
