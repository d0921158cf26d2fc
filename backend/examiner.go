package backend

import (
	"context"

	"github.com/agentruntime/agentruntime/spec"
)

// Prober is implemented by factories that can check whether a peer is reachable as declared,
// without giving it work.
type Prober interface {
	Factory
	// Probe returns why the peer of a valid endpoint cannot be used, or nil.
	Probe(ctx context.Context, endpoint *spec.Endpoint) error
}

// Examiner is implemented by factories that can explain the protocol violations of
// a peer.
type Examiner interface {
	Factory
	// Examine checks the peer of an endpoint: its description, and its answers to
	// calls that change nothing. The header is sent with each request to the
	// origins that the endpoint names. An error means that nothing was checked,
	// because the endpoint is invalid or ctx has ended.
	Examine(ctx context.Context, endpoint *spec.Endpoint, header map[string][]string) (*Examination, error)
}

// Examination is the result of examining a peer.
type Examination struct {
	// Peer is the given URL, and Name the peer's name for itself.
	Peer   string  `json:"peer"`
	Name   string  `json:"name,omitempty"`
	Checks []Check `json:"checks"`
}

// Check is one finding of an examination.
type Check struct {
	// Name is the name of the check.
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Seen is the peer's behavior, and Want the correct behavior; Want is empty if nothing is
	// wrong.
	Seen string `json:"seen"`
	Want string `json:"want,omitempty"`
}

// Outcome is the result of a check.
type Outcome string

// The outcomes: correct, improvable, and unusable or in violation of the protocol.
const (
	OutcomeOK      Outcome = "ok"
	OutcomeWarning Outcome = "warning"
	OutcomeError   Outcome = "error"
)

// Count returns the number of checks with an outcome.
func (e *Examination) Count(o Outcome) int {
	n := 0
	for i := range e.Checks {
		if e.Checks[i].Outcome == o {
			n++
		}
	}
	return n
}
