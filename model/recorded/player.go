package recorded

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"sync"

	"github.com/agentruntime/agentruntime/model"
)

// Player answers from recordings. It is safe for concurrent use.
//
// Each recording answers one request. When the same request was recorded several times, as in
// retries, the recordings are used in order.
type Player struct {
	options *options
	tracks  []track

	mu sync.Mutex
	// waiting are the indexes of the unused recordings, by the content of their requests.
	waiting    map[string][]int
	mismatches []*MismatchError
}

// track is one playable recording.
type track struct {
	// key is the content of the request as canonical JSON.
	key    string
	user   string
	events []model.Event
	err    *model.Error
	used   bool
}

var _ model.Executor = (*Player)(nil)

// NewPlayer reads recordings. It fails with a *FormatError if a line is not a recording.
func NewPlayer(r io.Reader, options ...Option) (*Player, error) {
	all, err := decodeRecordings(r)
	if err != nil {
		return nil, err
	}
	p := &Player{options: newOptions(options), waiting: map[string][]int{}}
	for i := range all {
		t, err := newTrack(&all[i])
		if err != nil {
			return nil, err
		}
		p.waiting[t.key] = append(p.waiting[t.key], i)
		p.tracks = append(p.tracks, t)
	}
	return p, nil
}

func newTrack(r *recording) (track, error) {
	key, err := encodeCanonical(&r.Request)
	if err != nil {
		return track{}, err
	}
	t := track{key: key, user: lastUserText(r.Request.Messages)}
	for i := range r.Events {
		ev, err := r.Events[i].toModel()
		if err != nil {
			return track{}, err
		}
		t.events = append(t.events, ev)
	}
	if r.Error != nil {
		t.err = r.Error.toModel()
	}
	return t, nil
}

func lastUserText(messages []model.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == model.RoleUser {
			return messages[i].Text()
		}
	}
	return ""
}

// encodeCanonical returns JSON that is the same for equal requests: object keys are sorted, also in
// raw JSON.
func encodeCanonical(r *request) (string, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	value, err := decodeAny(data)
	if err != nil {
		return "", err
	}
	data, err = json.Marshal(value)
	return string(data), err
}

func decodeAny(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	return value, decoder.Decode(&value)
}

// Stream streams the recorded answer. A request without a recording fails with an *Error of class
// InvalidRequest, which is not retried; its cause is a *MismatchError.
func (p *Player) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		t, err := p.takeTrack(req)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		for i := range t.events {
			if err := ctx.Err(); err != nil {
				yield(model.Event{}, model.AsError(err))
				return
			}
			if !yield(t.events[i], nil) {
				return
			}
		}
		if t.err != nil {
			err := *t.err
			yield(model.Event{}, &err)
		}
	}
}

// takeTrack returns the recording that answers a request, and marks it as used.
func (p *Player) takeTrack(req *model.Request) (*track, error) {
	asked, err := p.options.newRequest(req)
	if err != nil {
		return nil, &model.Error{Class: model.InvalidRequest, Message: err.Error(), Err: err}
	}
	key, err := encodeCanonical(&asked)
	if err != nil {
		return nil, &model.Error{Class: model.InvalidRequest, Message: err.Error(), Err: err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if left := p.waiting[key]; len(left) > 0 {
		p.waiting[key] = left[1:]
		t := &p.tracks[left[0]]
		t.used = true
		return t, nil
	}
	mismatch := p.newMismatch(key)
	p.mismatches = append(p.mismatches, mismatch)
	return nil, &model.Error{Class: model.InvalidRequest, Message: mismatch.Error(), Err: mismatch}
}

// newMismatch compares a request with the recorded ones and picks the nearest. If several are
// equally near, it prefers an unused one.
func (p *Player) newMismatch(key string) *MismatchError {
	asked, err := decodeAny([]byte(key))
	best := &MismatchError{Nearest: -1}
	if err != nil {
		return best
	}
	bestUsed := false
	for i := range p.tracks {
		t := &p.tracks[i]
		recorded, err := decodeAny([]byte(t.key))
		if err != nil {
			continue
		}
		found := compare(nil, "", recorded, asked)
		if best.Nearest < 0 || len(found) < len(best.Differences) || len(found) == len(best.Differences) && bestUsed && !t.used {
			best, bestUsed = &MismatchError{Nearest: i, Differences: found}, t.used
		}
	}
	return best
}

// Unused returns the indexes of the recordings not used so far.
func (p *Player) Unused() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var unused []int
	for i := range p.tracks {
		if !p.tracks[i].used {
			unused = append(unused, i)
		}
	}
	return unused
}

// Mismatches returns the requests without a recording so far.
func (p *Player) Mismatches() []*MismatchError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*MismatchError(nil), p.mismatches...)
}
