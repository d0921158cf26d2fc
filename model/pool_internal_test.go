package model

import (
	"strconv"
	"testing"
)

func TestOnlyTheLatestSessionsAreRemembered(t *testing.T) {
	t.Parallel()
	p := NewPool("pool", []Member{{ID: "a", Weight: 1}}, PoolPolicy{})
	const all = 2*maxSeats + 10
	for i := range all {
		p.takeSeat(&route{key: strconv.Itoa(i)}, seat{home: 1})
		p.takeSeat(&route{key: strconv.Itoa(i)}, seat{home: 2, moves: 1}) // takes no room
		p.takeSeat(&route{}, seat{home: 3})
	}
	for i := range all {
		got, known := p.seats.Get(strconv.Itoa(i))
		if want := i >= all-maxSeats; known != want || known && got != (seat{home: 2, moves: 1}) {
			t.Fatalf("session %d is known %v as %+v", i, known, got)
		}
	}
	if _, known := p.seats.Get(""); known || p.seats.Len() != maxSeats {
		t.Errorf("%d sessions are remembered", p.seats.Len())
	}
}
