package scripted

import (
	"hash/maphash"
	"sync"

	"github.com/agentruntime/agentruntime/model"
)

// maxFailures is the number of requests whose failures an executor remembers.
const maxFailures = 4096

// failures counts how often requests failed, and how often replies without a trace were given. When
// full, it drops the oldest.
type failures struct {
	seed maphash.Seed

	mu    sync.Mutex
	count map[uint64]failed
	// ring holds the keys in order of arrival; next is the index of the next one.
	ring []uint64
	next int
}

type failed struct{ times, place int }

func newFailures() failures {
	return failures{seed: maphash.MakeSeed(), count: make(map[uint64]failed)}
}

// requestKey identifies a request: its retries have the same key.
func (f *failures) requestKey(req *model.Request, last string) uint64 {
	type identity struct {
		session, turn, last string
		messages            int
	}
	return maphash.Comparable(f.seed, identity{req.SessionID, req.TurnID, last, len(req.Messages)})
}

// placeKey identifies a request's place in a conversation: requests that differ only in later user
// messages have the same key.
func (f *failures) placeKey(req *model.Request) uint64 {
	type identity struct {
		session, turn string
		answered      int
	}
	n := len(req.Messages)
	for n > 0 && req.Messages[n-1].Role == model.RoleUser {
		n--
	}
	return maphash.Comparable(f.seed, identity{req.SessionID, req.TurnID, n})
}

// addFailure counts one more failure.
func (f *failures) addFailure(key uint64) {
	known, ok := f.count[key]
	if !ok {
		known.place = f.reservePlace(key)
	}
	known.times++
	f.count[key] = known
}

// reservePlace returns an index for a key.
func (f *failures) reservePlace(key uint64) int {
	if len(f.ring) < maxFailures {
		f.ring = append(f.ring, key)
		return len(f.ring) - 1
	}
	place := f.next
	f.next = (f.next + 1) % maxFailures
	if old := f.ring[place]; f.count[old].place == place {
		delete(f.count, old)
	}
	f.ring[place] = key
	return place
}
