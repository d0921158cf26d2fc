// Package scripted is a model that answers from a script: deterministic, fast, and without a
// vendor, for first runs, demonstrations, tests and benchmarks.
//
// A run gets the replies of a script in order. The used replies are derived from the conversation
// of each request: every answer of the model in the run used one. So concurrent runs do not affect
// each other, a new run restarts the script, and a run resumed by another process continues where
// it was.
//
// A run is a turn. Its messages have ids that begin with the turn's id and end with a step number,
// which shows how many answers there were when older ones are no longer in the request. If a
// request names no turn, or has no such message yet, a run begins with the latest user message. An
// answer truncated by a failure after some chunks or by finish_reason max_tokens does not end a
// run: a user message that asks to continue does not restart the script.
//
// Only failures, and answers truncated before any text, leave no trace in a conversation. The
// executor therefore counts them per request, for the latest few thousand requests, until the
// request is answered.
//
// The model answers only from its script: a tool choice, an output format and the parameters of a
// request change nothing.
package scripted

import (
	"sync/atomic"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// Config is a provider of type scripted, as written in a configuration.
type Config struct {
	Script string `json:"script,omitempty" path:"read" doc:"A YAML file with the replies. If empty, the model echoes the last user message."`
}

// Executor answers from a script. It is safe for concurrent use.
type Executor struct {
	id       string
	program  *program
	failures failures
	record   *recorder
	// given marks each reply that was sent.
	given []atomic.Bool
}

var _ model.Executor = (*Executor)(nil)

// Kind returns the provider type scripted.
func Kind() model.ProviderKind {
	return spec.NewKind("scripted", "Answers from a script, without a vendor: for first runs, demonstrations and tests.",
		func(settings model.Settings, c *Config) (model.Executor, error) {
			e, err := openExecutor(settings, c)
			if err != nil {
				return nil, err
			}
			return e, nil
		})
}

func openExecutor(settings model.Settings, c *Config) (*Executor, error) {
	if c.Script == "" {
		return New(Script{}, ID(settings.ID))
	}
	program, err := loadScript(c.Script)
	if err != nil {
		return nil, err
	}
	return newExecutor(program, ID(settings.ID)), nil
}

// New returns an executor that answers from the script, which must not be modified afterwards. The
// error, a *ScriptError, lists all faults of the script.
func New(script Script, options ...Option) (*Executor, error) {
	program, faults := compileScript(&script)
	if len(faults) > 0 {
		return nil, &ScriptError{Faults: faults}
	}
	return newExecutor(program, options...), nil
}

func newExecutor(program *program, options ...Option) *Executor {
	e := &Executor{program: program, failures: newFailures(), given: make([]atomic.Bool, len(program.replies))}
	for _, option := range options {
		option(e)
	}
	return e
}

// Option is an option of New.
type Option func(*Executor)

// ID names the provider in the executor's errors.
func ID(id string) Option { return func(e *Executor) { e.id = id } }

// Record makes the executor keep the latest n requests; see Requests.
func Record(n int) Option {
	return func(e *Executor) {
		if n > 0 {
			e.record = &recorder{limit: n}
		}
	}
}

// Requests returns copies of the recorded requests, oldest first; see Record.
func (e *Executor) Requests() []model.Request {
	if e.record == nil {
		return nil
	}
	e.record.mu.Lock()
	defer e.record.mu.Unlock()
	out := make([]model.Request, len(e.record.requests))
	for i := range e.record.requests {
		out[i] = cloneRequest(&e.record.requests[i])
	}
	return out
}
