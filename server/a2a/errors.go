package a2a

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

var (
	errInternal     = a2a.NewError(a2a.ErrInternalError, "internal error; see the server log")
	errNobody       = a2a.NewError(a2a.ErrUnauthenticated, "a credential is needed")
	errDraining     = a2a.NewError(a2a.ErrServerError, "the server is shutting down; ask again")
	errReadOnly     = a2a.NewError(a2a.ErrServerError, "the store takes no writes now; ask again")
	errNoStore      = a2a.NewError(a2a.ErrServerError, "the store cannot be reached; ask again")
	errNoParams     = a2a.NewError(a2a.ErrInvalidParams, "the request has no parameters")
	errNoTaskID     = a2a.NewError(a2a.ErrInvalidParams, "the id of the task is required")
	errNotAvailable = a2a.NewError(a2a.ErrServerError, "the agent cannot be run now")
)

// newInvalidParams returns the error for an invalid request.
func newInvalidParams(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidParams, clip.At(server.MaxMessage, fmt.Sprintf(format, args...)))
}

// checkTenant rejects a request whose tenant is neither its agent, as cards name it for gRPC, nor
// its caller's tenant.
func checkTenant(tenant, agent string, caller service.Caller) error {
	if tenant == "" || tenant == agent || tenant == caller.Tenant {
		return nil
	}
	return newInvalidParams("tenant %q is neither the agent nor the tenant of the credential", clip.Text(tenant))
}

// newUnsupported returns the error for a request that a task's state does not allow.
func newUnsupported(format string, args ...any) error {
	return a2a.NewError(a2a.ErrUnsupportedOperation, clip.At(server.MaxMessage, fmt.Sprintf(format, args...)))
}

// unknownTask returns the error for a task that does not exist or belongs to another caller: the
// two must look alike.
func unknownTask(id a2a.TaskID) error {
	return a2a.NewError(a2a.ErrTaskNotFound, fmt.Sprintf("task %q not found", clip.Text(string(id))))
}

// unknownAgent returns the error for an agent that does not exist, or that the principal may not
// use.
func unknownAgent(id string) error {
	return a2a.NewError(a2a.ErrTaskNotFound, fmt.Sprintf("agent %q not found", clip.Text(id)))
}

// fixedErrors are the protocol errors for failures that always have the same message.
var fixedErrors = map[server.Class]error{
	server.ClassInternal:     errInternal,
	server.ClassUnresolvable: errNotAvailable,
	server.ClassDraining:     errDraining,
	server.ClassReadOnly:     errReadOnly,
	server.ClassStoreDown:    errNoStore,
	server.ClassCursor:       newInvalidParams("pageToken is invalid"),
	server.ClassAnswered:     newUnsupported("the question has another answer already"),
	server.ClassTooDeep:      newUnsupported("delegates may not be nested as deep as that"),
}
