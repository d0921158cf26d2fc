// Package instant reads and writes the times of the store's records.
package instant

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// Time is a timestamptz whose NULL is the zero time. It is read in UTC, to the
// microsecond.
type Time time.Time

// ScanTimestamptz reads a value of the database.
func (t *Time) ScanTimestamptz(v pgtype.Timestamptz) error {
	if !v.Valid {
		*t = Time{}
		return nil
	}
	*t = Time(v.Time.UTC())
	return nil
}

// TimestamptzValue returns the value to store.
func (t Time) TimestamptzValue() (pgtype.Timestamptz, error) {
	at := time.Time(t)
	return pgtype.Timestamptz{Time: at, Valid: !at.IsZero()}, nil
}

var (
	_ pgtype.TimestamptzScanner = (*Time)(nil)
	_ pgtype.TimestamptzValuer  = Time{}
)

// IsZero reports whether the value is NULL in the database.
func (t Time) IsZero() bool { return time.Time(t).IsZero() }

// After reports whether a time is later than another.
func (t Time) After(u time.Time) bool { return time.Time(t).After(u) }
