package agentruns

import "time"

// momentLayout writes all times with six fractional digits: clients compare them as
// texts, and some cannot read a number of digits that varies.
const momentLayout = "2006-01-02T15:04:05.000000Z"

// moment is a time in the clients' form, in UTC.
type moment time.Time

// MarshalText writes the time.
func (m moment) MarshalText() ([]byte, error) {
	return time.Time(m).UTC().AppendFormat(nil, momentLayout), nil
}

// momentOf returns a time as a moment; nil for the zero time.
func momentOf(t time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	return new(moment(t))
}
