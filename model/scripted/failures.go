package scripted

import (
	"hash/maphash"
	"sync"

	"github.com/agentruntime/agentruntime/internal/recent"
	"github.com/agentruntime/agentruntime/model"
)

// maxFailures is the number of requests whose failures an executor remembers.
const maxFailures = 4096

// failures counts how often requests failed, and how often replies without a trace were given, for
// the latest requests.
type failures struct {
	seed maphash.Seed

	mu    sync.Mutex
	count *recent.Map[uint64, int]
}

func newFailures() failures {
	return failures{seed: maphash.MakeSeed(), count: recent.NewMap[uint64, int](maxFailures)}
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
