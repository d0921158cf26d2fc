package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// runExchange sends a request for a call, or continues one whose questions were answered.
func (s *server) runExchange(ctx context.Context, call *tools.Call, r *request) (tools.Result, error) {
	e := &exchange{server: s, call: call, request: r}
	var f *flight
	if call.Resumed != nil {
		var result *tools.Result
		if f, result = e.resume(); result != nil {
			return *result, nil
		}
	}
	for {
		if id := e.task.load(); id != "" { // with answers it may lack
			s.storeTask(ctx, call.Host, &exchangeState{Task: id, Responses: e.next.responses, State: e.next.state})
		}
		if f == nil {
			var err error
			if f, err = e.start(ctx); err != nil {
				return e.connectionError(err)
			}
		}
		asked := f.wait(ctx)
		if asked == nil && ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		if asked != nil && e.answerAgain(asked) {
			continue
		}
		result, err := e.takeReply(ctx, f, asked)
		if err != nil {
			return tools.Result{}, err
		}
		if result != nil {
			return *result, nil
		}
		f = nil // another round, or a retry
	}
}

// start opens a session and sends the next round. A session that has already ended is reopened.
func (e *exchange) start(ctx context.Context) (*flight, error) {
	link, leave, err := e.server.enterPlace(ctx, e.call)
	if err != nil {
		return nil, &placeError{err}
	}
	session, _, err := link.openSession(ctx)
	if err != nil {
		leave()
		return nil, err
	}
	e.next.task = &e.task
	return session.startFlight(ctx, e.request, &e.next, e.call, leave)
}

// placeError reports that a call has no usable connection.
type placeError struct{ error }

// connectionError returns the result of a call that reached no server.
func (e *exchange) connectionError(err error) (tools.Result, error) {
	at, ok := errors.AsType[*placeError](err)
	switch {
	case ok && e.server.refersToTenant:
		return tools.Result{}, at.error
	case ok:
		return tools.ErrorResult(at.Error()), nil
	case e.task.load() != "" && e.request.effect == tools.Once:
		return *lostResult(fmt.Sprintf("the task of %s got no answer: %v. It may or may not have taken effect, and it was not repeated.", e.request.name, err)), nil
	default:
		return tools.Result{}, err
	}
}

// takeReply takes a question or the reply of a flight. It returns nil if another round follows.
func (e *exchange) takeReply(ctx context.Context, f *flight, asked *question) (*tools.Result, error) {
	switch {
	case asked != nil:
		return e.park(f, asked), nil
	case f.err != nil:
		return e.takeError(ctx, f)
	case len(f.reply.inputs) > 0 || f.reply.state != "":
		return e.answerInputs(ctx, f)
	default:
		return new(f.session.target.hideResult(f.reply.result).Within(e.server.config.maxOutput())), nil
	}
}

// takeError handles a failed request. The request is sent again if the server has not received it,
// or if its effect allows a repetition.
func (e *exchange) takeError(ctx context.Context, f *flight) (*tools.Result, error) {
	c := f.session
	refused, ok := errors.AsType[*jsonrpc.Error](f.err)
	switch {
	case (errors.Is(f.err, mcp.ErrConnectionClosed) || errors.Is(f.err, mcp.ErrSessionMissing)) && e.reopened < reopened: // the session had ended before
		e.reopened++
		c.cancel()
		<-c.done
		return nil, nil //nolint:nilnil // the request is sent again
	case ok && refused.Code == mcp.CodeURLElicitationRequired:
		return e.askAddresses(c, refused)
	case ok && refused.Code != notDelivered && e.task.load() != "" && e.request.effect == tools.Once:
		return lostResult(fmt.Sprintf("the task of %s has no result: %s (code %d). It may or may not have taken effect, and it was not repeated.",
			e.request.name, c.target.hideSecrets(refused), refused.Code)), nil
	case ok && refused.Code != notDelivered:
		f.err = fmt.Errorf("it refuses the call of %s: %s (code %d)", e.request.name, refused.Message, refused.Code)
	case !ok && c.isEnding():
		if (e.request.effect != tools.Once || e.task.load() != "") && !e.repeated && ctx.Err() == nil {
			e.repeated = true
			return nil, nil //nolint:nilnil // the request is sent again
		}
		if e.request.effect == tools.Once {
			return lostResult(fmt.Sprintf("the call of %s got no answer: %v. It may or may not have taken effect, and it was not repeated.", e.request.name, c.cause)), nil
		}
		return nil, fmt.Errorf("the call of %s got no answer: %w", e.request.name, c.cause)
	}
	return nil, &Error{Server: e.server.id, Err: c.target.hideSecrets(f.err)}
}

// notDelivered is the carrier's code for a request that was not delivered; the rest
// of the error is the reason.
const notDelivered = -32005

// answerInputs answers the requests of a server without sessions, and asks the user if
// necessary.
func (e *exchange) answerInputs(ctx context.Context, f *flight) (*tools.Result, error) {
	if e.progress.Rounds++; e.progress.Rounds > maxRounds {
		return nil, &Error{Server: e.server.id, Err: fmt.Errorf("%s asks for input more than %d times", e.request.name, maxRounds)}
	}
	if n := len(f.reply.inputs); n > maxQuestions {
		return nil, &Error{Server: e.server.id, Err: fmt.Errorf("%s asks for %d inputs at once; at most %d are allowed", e.request.name, n, maxQuestions)}
	}
	if size := len(f.reply.state); size > maxSchema {
		return nil, &Error{Server: e.server.id, Err: fmt.Errorf("the state of %s has %d bytes; at most %d are allowed", e.request.name, size, maxSchema)}
	}
	responses, requests := make(mcp.InputResponseMap), make(map[string]*interaction.Request)
	for key, input := range f.reply.inputs {
		if len(key) > maxName {
			return nil, &Error{Server: e.server.id, Err: fmt.Errorf("%s asks for input under a name of %d bytes", e.request.name, len(key))}
		}
		if p, ok := input.(*mcp.ElicitParams); ok {
			asked, refusal := f.session.readQuestion(p)
			if refusal == "" {
				requests[key] = asked
				continue
			}
			f.session.noteRefusal(refusal)
			responses[key] = &mcp.ElicitResult{Action: "decline"}
			continue
		}
		response, err := f.session.answerInput(ctx, f, input)
		if err != nil {
			return nil, &Error{Server: e.server.id, Err: f.session.target.hideSecrets(err)}
		}
		responses[key] = response
	}
	e.progress.State, e.progress.Responses, e.progress.Requests = f.reply.state, responses, requests
	if len(requests) > 0 {
		return e.askAll(requests), nil
	}
	e.next = round{responses: responses, state: f.reply.state}
	return nil, nil //nolint:nilnil // another round follows
}

// resume continues an exchange whose questions were answered. It returns the waiting flight, or nil
// if a flight must be started, or a result.
func (e *exchange) resume() (*flight, *tools.Result) {
	if err := json.Unmarshal(e.call.Resumed.State, &e.progress); err != nil {
		return nil, new(tools.ErrorResult("the state of the call cannot be read"))
	}
	answers := e.call.Resumed.Answers
	e.task.store(e.progress.Task)
	switch p := &e.progress; {
	case p.Parked != "":
		return e.unpark(answers)
	case p.Addresses:
		for _, a := range answers {
			if readAnswer(tools.ActionAuthorize, &a).Action != "accept" {
				return nil, new(tools.ErrorResult(fmt.Sprintf("%s was not called: the user declined to visit the address", e.request.name)))
			}
		}
		return nil, nil
	default:
		if p.Responses == nil {
			p.Responses = make(mcp.InputResponseMap)
		}
		for _, a := range answers {
			if asked := p.Requests[a.Target]; asked != nil {
				p.Responses[a.Target] = readAnswer(asked.Action, &a)
				delete(p.Requests, a.Target)
			}
		}
		if len(p.Requests) > 0 {
			return nil, e.askAll(p.Requests)
		}
		e.next = round{responses: p.Responses, state: p.State}
		return nil, nil
	}
}
