// Package failuretest provides the errors with which surfaces answer requests.
package failuretest

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/sessionstart"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workspace"
)

// Secret is in the text of every error, and must never reach callers.
const Secret = "sk-1234"

// Case is an error and its classification for callers.
type Case struct {
	Name  string
	Err   error
	Class server.Class
}

// All returns the errors of the service, of the store and of resolving, each wrapped in text that
// must not reach callers.
func All() []Case {
	cases := []Case{
		{"the disk", errors.New("the disk is full"), server.ClassInternal},
		{"an agent that does not resolve", &resolve.Error{Agent: "clerk", Errs: []error{errors.New("no model")}}, server.ClassUnresolvable},
		{"a store that takes no writes", service.ErrNotWritable, server.ClassReadOnly},
		{"a store that is away", service.ErrUnavailable, server.ClassStoreDown},
		{"a turn", &service.NotFoundError{Kind: "turn", ID: "t"}, server.ClassNotFound},
		{"a session", &service.NotFoundError{Kind: "session", ID: "s"}, server.ClassNotFound},
		{"an agent", &resolve.AgentNotFoundError{Reference: resolve.Reference{ID: "a", Nearest: "b"}}, server.ClassNoAgent},
		{"a field", &service.InvalidError{Field: "f", Problem: "p"}, server.ClassInvalid},
		{"no input", runtime.ErrNoInput, server.ClassInvalid},
		{"what a backend does not do", &backend.MismatchError{Agent: "a"}, server.ClassMismatch},
		{"a cursor", service.ErrCursor, server.ClassCursor},
		{"a text", service.ErrText, server.ClassText},
		{"an answer", &interaction.AnswerError{Target: "i", Problem: "p"}, server.ClassUnfitAnswer},
		{"a body", &http.MaxBytesError{Limit: 5}, server.ClassTooLarge},
		{"a hook", &sessionstart.Error{Hook: "h", Problem: "exit code 1"}, server.ClassSessionStart},
		{"a repository", &workspace.PolicyError{Problem: "p"}, server.ClassWorkspace},
		{"a checkout", &workspace.PrepareError{Checkout: "c", Problem: "p"}, server.ClassWorkspace},
		{"a delegation", &runtime.DelegationError{Agent: "a", Depth: 3}, server.ClassTooDeep},
		{"an id", &service.ExistsError{Kind: "session", ID: "s"}, server.ClassExists},
		{"a key", &service.KeyConflictError{Key: "k", ID: "t"}, server.ClassKeyConflict},
		{"a live turn", &service.BusyError{SessionID: "s", TurnID: "t"}, server.ClassBusy},
		{"an archived session", &service.StateError{Kind: "session", ID: "s", State: "archived", Want: "used"}, server.ClassWrongState},
		{"an ended turn", &service.StateError{Kind: "turn", ID: "t", State: "failed", Want: "answered"}, server.ClassWrongState},
		{"another answer", &service.ConflictError{TurnID: "t", ID: "i"}, server.ClassAnswered},
		{"webhooks", &service.LimitError{TurnID: "t", Limit: 16}, server.ClassLimit},
	}
	for i := range cases {
		cases[i].Err = fmt.Errorf("%s: %w", Secret, cases[i].Err)
	}
	return cases
}
