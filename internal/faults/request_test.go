package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os/signal"
	"syscall"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

var alice = service.Caller{Tenant: "acme", Subject: "alice"}

// request is a request of the harness to a service. Each may be repeated when its outcome is
// unknown.
type request struct {
	ID int64 `json:"id"`
	// Do is one of the names below.
	Do      string `json:"do"`
	Session string `json:"session,omitempty"`
	Turn    string `json:"turn,omitempty"`
	Text    string `json:"text,omitempty"`
	// Target is an interaction, and Approve whether it is approved.
	Target  string `json:"target,omitempty"`
	Approve bool   `json:"approve,omitempty"`
	// After is the seq after which events are returned.
	After uint64 `json:"after,omitempty"`
	// Size limits the files that the process writes.
	Size uint64 `json:"size,omitempty"`
}

// What is asked.
const (
	makeSession = "session"
	makeTurn    = "turn"
	cancelTurn  = "cancel"
	answerIt    = "answer"
	followTurn  = "follow"
	limitFiles  = "limit"
)

// gateway is a connection to a service: direct calls, or the pipe to a worker.
type gateway interface {
	// do carries out a request and returns the state of its turn, if any.
	do(ctx context.Context, r request) (store.Status, error)
	// follow returns the events of a turn after a seq.
	follow(ctx context.Context, turnID string, after uint64) iter.Seq2[sighting, error]
}

// sighting is an event as seen by a reader.
type sighting struct {
	Turn string     `json:"turn"`
	Seq  uint64     `json:"seq"`
	Type event.Type `json:"type"`
	// Last is set for the terminal event of the turn.
	Last bool `json:"last,omitempty"`
	// Data is the whole event, byte for byte.
	Data []byte `json:"data"`
}

func sight(r *event.Record) (sighting, error) {
	data, err := r.MarshalJSON()
	return sighting{r.TurnID, r.Seq, r.Type, r.Terminal(), data}, err
}

// interaction returns the id of the event's interaction, if any.
func (s *sighting) interaction() (id string, ok bool) {
	if s.Type != event.TypeInteractionRequest {
		return "", false
	}
	var ev event.InteractionRequest
	return ev.ID, json.Unmarshal(s.Data, &ev) == nil && ev.ID != ""
}

// direct is the gateway to a service of this process.
type direct struct{ *service.Service }

func (d direct) do(ctx context.Context, r request) (store.Status, error) {
	switch r.Do {
	case makeSession:
		_, err := d.CreateSession(ctx, alice, service.CreateSession{ID: r.Session, AgentID: "clerk", IdempotencyKey: r.Session})
		return "", err
	case makeTurn:
		return status(d.CreateTurn(ctx, alice, service.CreateTurn{
			ID: r.Turn, SessionID: r.Session, IdempotencyKey: r.Turn, Input: []model.Message{model.User(r.Text)},
		}))
	case cancelTurn:
		return status(d.CancelTurn(ctx, alice, r.Turn, "for the test"))
	case answerIt:
		return d.answer(ctx, r)
	case limitFiles:
		return "", limit(r.Size)
	default:
		return "", fmt.Errorf("nobody can do %q", r.Do)
	}
}

// answer answers an interaction, unless its turn was canceled.
func (d direct) answer(ctx context.Context, r request) (store.Status, error) {
	_, err := d.AnswerInteraction(ctx, alice, r.Turn, decision(r.Target, r.Approve))
	if err == nil || errors.As(err, new(*store.StateError)) {
		return "", nil
	}
	if t, failed := d.GetTurn(ctx, alice, r.Turn); failed == nil && !t.Status.Live() {
		return t.Status, nil
	}
	return "", err
}

func status(t *service.Turn, err error) (store.Status, error) {
	if err != nil {
		return "", err
	}
	return t.Status, nil
}

// decision is the answer to a question of the permission plugin.
func decision(target string, approve bool) interaction.Answer {
	return interaction.Answer{Target: target, Action: interaction.Resume, Result: fmt.Appendf(nil, `{"approved":%t}`, approve)}
}

func (d direct) follow(ctx context.Context, turnID string, after uint64) iter.Seq2[sighting, error] {
	return func(yield func(sighting, error) bool) {
		for record, err := range d.Events(ctx, alice, turnID, after, service.WithDelegates) {
			var s sighting
			if err == nil {
				s, err = sight(&record)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// limit limits the files of this process. The signal for excess writes is ignored, so that the
// write returns an error, as on a full disk.
func limit(size uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		return err
	}
	now.Cur = min(size, now.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now)
}
