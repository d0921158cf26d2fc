package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is a tool of a server. It never changes: another catalogue has others.
type tool struct {
	server *server
	// name is what the server calls it.
	name       string
	descriptor tools.Descriptor
	// output is what structured results must fit; nil where the server does not
	// say.
	output *schema.Schema
}

var _ tools.Tool = (*tool)(nil)

// Descriptor describes the tool as the server does.
func (t *tool) Descriptor() tools.Descriptor { return t.descriptor }

// Call calls the tool. A session that turns out to have ended before the call
// was sent is opened anew; a call that may have arrived is not repeated.
func (t *tool) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	link, leave, err := t.server.enterPlace(ctx, call)
	if err != nil && !t.server.refersToTenant {
		return tools.ErrorResult(err.Error()), nil
	}
	if err != nil {
		return tools.Result{}, err
	}
	defer leave()
	for attempt := 0; ; attempt++ {
		session, _, err := link.openSession(ctx)
		if err != nil {
			return tools.Result{}, err
		}
		result, err := session.callTool(ctx, t.name, callArguments(call), call.Host.Progress)
		if err == nil {
			return session.target.hideResult(t.convertResult(ctx, result)).Within(t.server.config.maxOutput()), nil
		}
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		if wasUnsent(err) && attempt < reopened {
			session.cancel()
			<-session.done
			continue
		}
		return tools.Result{}, t.failureError(session, err)
	}
}

func callArguments(call *tools.Call) json.RawMessage {
	if len(call.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return call.Arguments
}

// reopened is how often a call is made again because its session had ended
// before: a server that is started anew may forget the next one, too.
const reopened = 2

// wasUnsent reports whether a call failed because the session had ended before.
func wasUnsent(err error) bool {
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing)
}

// notDelivered is the carrier's code for a request that was not delivered; the rest
// of the error is the reason.
const notDelivered = -32005

// failureError returns what the model is told of a call without a result.
func (t *tool) failureError(session *session, err error) error {
	refused, ok := errors.AsType[*jsonrpc.Error](err)
	switch {
	case ok && refused.Code != notDelivered:
		err = fmt.Errorf("it refuses the call of %s: %s (code %d)", t.name, refused.Message, refused.Code)
	case !ok && session.isEnding():
		return fmt.Errorf("the call of %s got no answer: %w", t.name, session.cause)
	}
	return &Error{Server: t.server.id, Err: session.target.hideSecrets(err)}
}
