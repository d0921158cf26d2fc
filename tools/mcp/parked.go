package mcp

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// parkedTime is how long a call stays open at the server while it waits for an answer.
	parkedTime = time.Hour
	// maxParked bounds the open calls of a server that wait for answers.
	maxParked = 256
	// maxQuestions bounds the questions that a server asks at once in a call.
	maxQuestions = 16
)

// parkedFlights are the flights whose calls wait for an answer, by ID. The zero value is empty.
type parkedFlights struct {
	mu      sync.Mutex
	waiting map[string]*parked
}

// parked is a flight that waits for the answer to a question.
type parked struct {
	flight *flight
	asked  *question
	expiry *time.Timer
}

// add keeps a flight for a limited time until its question is answered. It returns an unguessable
// ID, or "" if too many flights wait.
func (p *parkedFlights) add(f *flight, asked *question) (id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, one := range p.waiting {
		if one.flight.isLost() {
			one.expiry.Stop()
			delete(p.waiting, key)
		}
	}
	if len(p.waiting) >= maxParked {
		return ""
	}
	if p.waiting == nil {
		p.waiting = make(map[string]*parked)
	}
	id = rand.Text()
	p.waiting[id] = &parked{flight: f, asked: asked, expiry: time.AfterFunc(parkedTime, func() {
		if p.take(id) != nil {
			f.cancel(nil)
		}
	})}
	return id
}

// take removes a flight and returns it; nil if it no longer waits.
func (p *parkedFlights) take(id string) *parked {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.waiting[id]
	if one == nil {
		return nil
	}
	delete(p.waiting, id)
	one.expiry.Stop()
	if one.flight.isLost() {
		return nil
	}
	return one
}

// close cancels all flights.
func (p *parkedFlights) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.waiting {
		one.expiry.Stop()
		one.flight.cancel(nil)
	}
	p.waiting = nil
}

// park makes the call wait for the answer to a question while its flight stays open.
func (e *exchange) park(f *flight, asked *question) *tools.Result {
	e.progress.Parked, e.progress.Question = e.server.parked.add(f, asked), hashQuestion(&asked.request)
	if e.progress.Parked == "" {
		f.cancel(nil)
		r := tools.ErrorResult(fmt.Sprintf("%s was canceled: too many calls of the server wait for answers", e.request.name))
		return &r
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

// elicit asks the user a question of the server during a call.
func (c *session) elicit(f *flight, asked *interaction.Request) (*mcp.ElicitResult, error) {
	defer f.questions.Add(-1)
	if f.questions.Add(1) > maxQuestions {
		c.noteRefusal(refusedMany)
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	q := &question{request: *asked, answer: make(chan *mcp.ElicitResult, 1)}
	select {
	case f.asked <- q:
	case <-f.ctx.Done():
		return nil, f.ctx.Err()
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-f.ctx.Done():
		return nil, f.ctx.Err()
	}
}
