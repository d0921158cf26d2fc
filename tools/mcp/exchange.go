package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRounds bounds how often a server may request more input before it returns a result.
const maxRounds = 20

// reopened is how often a call is retried because its session had already ended: a restarted server
// may forget the next session too.
const reopened = 2

// exchange is the request of a call to a server, with the server's questions.
type exchange struct {
	server  *server
	call    *tools.Call
	request *request
	// progress is kept while the call waits for answers.
	progress exchangeState
	// next is the next round, and replay the answer for a repeated request that asks the same
	// question again.
	next     round
	replay   *replay
	reopened int
	repeated bool
	task     taskID
}

// exchangeState continues an exchange after its questions were answered, possibly in another
// process.
type exchangeState struct {
	Rounds int `json:"rounds,omitempty"`
	// Parked identifies the flight waiting in this process, and Question its question.
	Parked   string `json:"parked,omitempty"`
	Question string `json:"question,omitempty"`
	// Requests are the questions of a server without sessions, by its keys, Responses the answers
	// so far, and State the server's state.
	Requests  map[string]*interaction.Request `json:"requests,omitempty"`
	Responses mcp.InputResponseMap            `json:"responses,omitempty"`
	State     string                          `json:"state,omitempty"`
	// Task is the task that the request has become at the server.
	Task string `json:"task,omitempty"`
	// Addresses reports whether the server wants addresses to be visited before the request is sent
	// again.
	Addresses bool `json:"addresses,omitempty"`
}

// replay is an answer given before the request had to be sent again.
type replay struct {
	question string
	answer   interaction.Answer
}

// lostResult is the result of a call whose effect is unknown.
func lostResult(text string) *tools.Result {
	return &tools.Result{Content: []model.Part{model.Text(text)}, IsError: true, Indeterminate: true}
}

// park makes the call wait for the answer to a question while its flight stays open.
func (e *exchange) park(f *flight, asked *question) *tools.Result {
	e.progress.Parked, e.progress.Question = e.server.parked.add(f, asked), hashQuestion(&asked.request)
	if e.progress.Parked == "" {
		f.cancel(nil)
		return new(tools.ErrorResult(fmt.Sprintf("%s was canceled: too many calls of the server wait for answers", e.request.name)))
	}
	f.attach(nil)
	return e.suspend(&tools.Wait{Questions: []interaction.Request{asked.request}})
}

// unpark passes the answer to the waiting flight. If the flight no longer exists, the request is
// sent again if its effect allows it.
func (e *exchange) unpark(answers []interaction.Answer) (*flight, *tools.Result) {
	one := e.server.parked.take(e.progress.Parked)
	e.progress.Parked = ""
	if one != nil && len(answers) > 0 {
		one.flight.attach(e.call.Host)
		one.asked.answer <- readAnswer(one.asked.request.Action, &answers[0])
		return one.flight, nil
	}
	if one != nil { // another process crashed and lost the answer
		one.flight.cancel(nil)
	}
	if e.request.effect == tools.Once && e.task.load() == "" {
		return nil, lostResult(fmt.Sprintf("the connection ended while the call of %s waited for an answer. It may or may not have taken effect, and it was not repeated.", e.request.name))
	}
	if len(answers) > 0 {
		e.replay = &replay{e.progress.Question, answers[0]}
	}
	return nil, nil
}

// answerAgain answers a question of a repeated request that was already answered, and reports
// whether it did.
func (e *exchange) answerAgain(asked *question) bool {
	if e.replay == nil || e.replay.question != hashQuestion(&asked.request) {
		return false
	}
	asked.answer <- readAnswer(asked.request.Action, &e.replay.answer)
	e.replay = nil
	return true
}

// askAddresses asks the user to visit the addresses that a server wants visited before it
// accepts a request.
func (e *exchange) askAddresses(c *session, refused *jsonrpc.Error) (*tools.Result, error) {
	fail := func(problem string) (*tools.Result, error) {
		return nil, &Error{Server: e.server.id, Err: fmt.Errorf("%s wants an address to be visited: %s", e.request.name, problem)}
	}
	var data struct {
		Elicitations []*mcp.ElicitParams `json:"elicitations"`
	}
	const most = 10
	if json.Unmarshal(refused.Data, &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > most {
		return fail(fmt.Sprintf("it does not name 1 to %d", most))
	}
	if e.progress.Rounds++; e.progress.Rounds > maxRounds {
		return fail("it asked too often")
	}
	wait := new(tools.Wait)
	for i, p := range data.Elicitations {
		if p == nil || p.Mode != "url" {
			return fail("it asks for something else")
		}
		asked, refusal := c.readQuestion(p)
		if refusal != "" {
			c.noteRefusal(refusal)
			return fail(refusal)
		}
		asked.ID = fmt.Sprintf("%s/%d", e.call.ID, i+1)
		wait.Questions = append(wait.Questions, *asked)
	}
	e.progress.Addresses = true
	return e.suspend(wait), nil
}

// askAll makes the call wait for the answers to questions.
func (e *exchange) askAll(requests map[string]*interaction.Request) *tools.Result {
	wait := new(tools.Wait)
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		requests[key].ID = key
		wait.Questions = append(wait.Questions, *requests[key])
	}
	return e.suspend(wait)
}

// suspend makes the call wait.
func (e *exchange) suspend(wait *tools.Wait) *tools.Result {
	e.progress.Task = e.task.load()
	state, err := json.Marshal(&e.progress)
	if err != nil {
		return new(tools.ErrorResult("the state of the call cannot be kept: " + err.Error()))
	}
	wait.State = state
	return &tools.Result{Wait: wait}
}

// keepTask stores the task that a call has become, so that the call follows it even if the
// process dies.
func (s *server) keepTask(ctx context.Context, c *session, id string) {
	if f := c.flightOf(ctx); f != nil {
		if host := f.waitingHost(); host != nil {
			s.storeTask(ctx, host, &exchangeState{Task: id})
		}
	}
}

// storeTask stores the state of a call that has become a task. If storing fails, the call is
// indeterminate if its process dies.
func (s *server) storeTask(ctx context.Context, host tools.Host, state *exchangeState) {
	text, err := json.Marshal(state)
	if err == nil {
		err = host.Keep(ctx, text)
	}
	if err != nil && ctx.Err() == nil {
		s.logger.Warn("storing the task of a call failed", "error", err)
	}
}
