package store

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultPage is the number of records in a page without a limit.
	DefaultPage = 50
	// MaxPage is the maximum number of records in a page.
	MaxPage = 1000
)

// Page selects a part of a list.
type Page struct {
	// After is the Next of the previous page; empty for the first page.
	After string `query:"after" jsonschema:"Value of next from the previous page."`
	// Limit is the maximum number of records: DefaultPage if 0, MaxPage if greater.
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"50" jsonschema:"Maximum number of results."`
}

// Size returns the maximum number of records in the page.
func (p Page) Size() int {
	switch {
	case p.Limit <= 0:
		return DefaultPage
	case p.Limit > MaxPage:
		return MaxPage
	default:
		return p.Limit
	}
}

// ErrCursor is returned for a cursor that the store did not issue.
var ErrCursor = errors.New("invalid cursor")

// Cursor is a place in a list that is ordered by time and then by id.
type Cursor struct {
	Time time.Time
	ID   string
}

// String returns the cursor as callers see it.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.Time.UnixMicro(), 36) + "." + c.ID))
}

// Cursor returns the position where the page begins; nil is the beginning. The error is ErrCursor.
func (p Page) Cursor() (*Cursor, error) {
	if p.After == "" {
		return nil, nil //nolint:nilnil // the beginning
	}
	text, err := base64.RawURLEncoding.DecodeString(p.After)
	if err != nil {
		return nil, ErrCursor
	}
	at, id, ok := strings.Cut(string(text), ".")
	micros, err := strconv.ParseInt(at, 36, 64)
	if !ok || err != nil || id == "" {
		return nil, ErrCursor
	}
	return &Cursor{Time: time.UnixMicro(micros).UTC(), ID: id}, nil
}

// Place returns where a page begins in a list ordered by a number, greatest first: after the
// returned number, which is math.MaxInt64 at the beginning. Cursors of such a list have the number
// as their ID. The error is ErrCursor.
func (p Page) Place() (int64, error) {
	c, err := p.Cursor()
	if err != nil || c == nil {
		return math.MaxInt64, err
	}
	n, err := strconv.ParseInt(c.ID, 10, 64)
	if err != nil || n <= 0 {
		return 0, ErrCursor
	}
	return n, nil
}
