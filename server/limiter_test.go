package server_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server"
)

// counting returns a server that counts requests, and whose time the test sets.
func counting(t testing.TB, rate server.Rate) (s *server.Server, now *time.Time) {
	t.Helper()
	now = new(newYear)
	s, err := server.New(server.Settings{Rate: rate, Clock: func() time.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	return s, now
}

// enter begins and ends a request of a credential, and reports whether it may.
func enter(s *server.Server, keyID string) bool {
	leave, _ := s.Enter(&server.Principal{KeyID: keyID})
	if leave == nil {
		return false
	}
	leave()
	return true
}

func TestCredentialsThatAskNoMoreAreForgotten(t *testing.T) {
	t.Parallel()
	s, now := counting(t, server.Rate{PerSecond: 1, Burst: 1})
	const many = 10_000
	for i := range many {
		enter(s, strconv.Itoa(i))
	}
	held, _ := s.Enter(&server.Principal{KeyID: "held"})
	*now = now.Add(time.Minute)
	for i := range many + 2 {
		enter(s, "later-"+strconv.Itoa(i))
	}
	if n := s.Allowances(); n > many+10 {
		t.Errorf("%d are remembered", n)
	}
	if enter(s, "later-0") {
		t.Error("one that asked just now is forgotten")
	}
	held()
}

// BenchmarkACredentialIsNew has more credentials that asked just now than are
// forgotten at once: looking through all of them for each new one would not end.
func BenchmarkACredentialIsNew(b *testing.B) {
	s, _ := counting(b, server.Rate{PerSecond: 0.01, Burst: 1})
	for i := range 50_000 {
		enter(s, strconv.Itoa(i))
	}
	i := 50_000
	b.ReportAllocs()
	for b.Loop() {
		enter(s, strconv.Itoa(i))
		i++
	}
}
