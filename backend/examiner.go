package backend

import (
	"context"

	"github.com/agentruntime/agentruntime/spec"
)

// Prober is implemented by factories that can ask a peer whether it can be
// reached as an endpoint says, without having it do anything.
type Prober interface {
	Factory
	// Probe returns why the peer of an endpoint that Validate found right cannot
	// be used; nil when it can.
	Probe(ctx context.Context, endpoint *spec.Endpoint) error
}

// Examiner is implemented by factories that can explain what a peer does wrong.
type Examiner interface {
	Factory
	// Examine looks at the peer of an endpoint: what it says of itself, and how it
	// answers calls that change nothing. The header is sent with each request to
	// the origins that the endpoint names. An error says that there is nothing to
	// look at, because the endpoint is wrong or ctx has ended.
	Examine(ctx context.Context, endpoint *spec.Endpoint, header map[string][]string) (*Examination, error)
}

// Examination is what was seen of a peer.
type Examination struct {
	// Peer is the URL that was given, and Name what the peer calls itself.
	Peer   string  `json:"peer"`
	Name   string  `json:"name,omitempty"`
	Checks []Check `json:"checks"`
}

// Check is one thing that was looked at.
type Check struct {
	// Name says what was looked at.
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Seen is what the peer does, and Want what would be right; Want is empty
	// when nothing is wrong.
	Seen string `json:"seen"`
	Want string `json:"want,omitempty"`
}

// Outcome is what a check came to.
type Outcome string

// The outcomes: nothing is wrong, something could be better, and something keeps
// the peer from being used or does not follow the protocol.
const (
	OutcomeOK      Outcome = "ok"
	OutcomeWarning Outcome = "warning"
	OutcomeError   Outcome = "error"
)

// Count returns how many checks came to an outcome.
func (e *Examination) Count(o Outcome) int {
	n := 0
	for i := range e.Checks {
		if e.Checks[i].Outcome == o {
			n++
		}
	}
	return n
}
