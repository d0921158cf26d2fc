package model

import (
	"strconv"
	"testing"
)

func TestOnlyTheLatestSessionsAreRemembered(t *testing.T) {
	s := newSeats()
	const all = 2*maxSeats + 10
	for i := range all {
		s.put(strconv.Itoa(i), seat{home: 1})
		s.put(strconv.Itoa(i), seat{home: 2, moves: 1}) // takes no room
		s.put("", seat{home: 3})
	}
	for i := range all {
		got, known := s.get(strconv.Itoa(i))
		if want := i >= all-maxSeats; known != want || known && got != (seat{home: 2, moves: 1}) {
			t.Fatalf("session %d is known %v as %+v", i, known, got)
		}
	}
	if _, known := s.get(""); known || len(s.byKey) != maxSeats || len(s.ring) != maxSeats {
		t.Errorf("%d sessions are remembered", len(s.byKey))
	}
}
