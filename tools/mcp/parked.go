package mcp

import (
	"crypto/rand"
	"sync"
	"time"
)

const (
	// parkedTime is how long a call stays open at the server while it waits for an answer.
	parkedTime = time.Hour
	// maxParked bounds the open calls of a server that wait for answers.
	maxParked = 256
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
