package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
)

// Time reads and writes UTC times with microsecond precision, as SQLite stores them: microseconds
// since 1970, with 0 for the zero time. A Session on another database substitutes its own type in
// arguments and destinations.
type Time time.Time

var (
	_ sql.Scanner   = (*Time)(nil)
	_ driver.Valuer = Time{}
)

// Scan reads a value.
func (t *Time) Scan(v any) error {
	micros, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T", v)
	}
	*t = Time(FromMicros(micros))
	return nil
}

// Value returns the value to keep.
func (t Time) Value() (driver.Value, error) { return ToMicros(time.Time(t)), nil }

// micros reads a time from a column of microseconds in any database.
type micros time.Time

// Scan reads a value.
func (t *micros) Scan(v any) error { return (*Time)(t).Scan(v) }

// flag reads a column that is 0 or 1.
type flag bool

// Scan reads a value.
func (f *flag) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a flag is stored as %T", v)
	}
	*f = n != 0
	return nil
}

// ToMicros returns the microseconds of a time since 1970, 0 for the zero time.
func ToMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// FromMicros is the inverse of ToMicros.
func FromMicros(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Truncate returns a time as it is read back from a database.
func Truncate(t time.Time) time.Time { return FromMicros(ToMicros(t)) }
