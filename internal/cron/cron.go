// Package cron parses the times of schedules: a cron expression and a time zone.
package cron

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Times are the moments at which a schedule is due. They are immutable and safe
// from many goroutines.
type Times struct {
	when cron.Schedule
	zone *time.Location
}

// Parse returns the times of an expression in a time zone. The expression has five
// fields, or is one of @hourly, @daily, @every 10m and the like; the zone is an
// IANA name, and UTC when it is empty.
func Parse(expression, timeZone string) (*Times, error) {
	zone, err := time.LoadLocation(timeZone)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", timeZone, err)
	}
	if strings.HasPrefix(expression, "TZ=") || strings.HasPrefix(expression, "CRON_TZ=") {
		return nil, fmt.Errorf("cron %q: the time zone is a field of its own", expression)
	}
	when, err := cron.ParseStandard(expression)
	if err != nil {
		return nil, fmt.Errorf("cron %q: %w", expression, err)
	}
	return &Times{when: when, zone: zone}, nil
}

// Next returns the first of the times after a moment; the zero time if there is no
// later one.
func (t *Times) Next(after time.Time) time.Time { return t.when.Next(after.In(t.zone)) }
