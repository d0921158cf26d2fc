package vendorhttp

import (
	"github.com/agentruntime/agentruntime/model"
)

// Exchange is one request to a provider and the translation of its response. It is used by one
// goroutine, for one call of Ask.
type Exchange interface {
	// Encode returns the path of the request, below the base URL, and its body.
	Encode() (path string, body []byte, err error)
	// Concede is called when the request that Encode returned is refused. It reports whether Encode
	// now returns a different request, which is then sent.
	Concede(refusal *model.Error) bool
	// Translator returns the translator for the answer. It is called once, when the
	// provider has accepted the request.
	Translator() Translator
}

// Translator converts a vendor's stream events into the runtime's events. It belongs to one
// response.
type Translator interface {
	// Translate translates one event into the batch. It returns true if the answer is complete;
	// then the batch ends with an EventFinish.
	Translate(ev *ServerEvent, out *Batch) (done bool, err error)
	// End is called when the stream ends before Translate returned true; marked reports whether it
	// ended with an end mark. It reports whether the answer is complete nevertheless.
	End(marked bool, out *Batch) (done bool, err error)
}

// Batch holds the events that one event of the vendor's stream translates to.
type Batch struct {
	Events []model.Event
	// Usage is the answer's usage so far, which its error carries; nil until the vendor reports
	// any.
	Usage *model.Usage
	// Ending is set once the vendor has given the finish reason and may send only a few more events
	// that complete the answer. A server that then keeps the stream open is not waited for.
	Ending bool
	// Unknown is set for an event that contains nothing the translator knows.
	Unknown bool
}

// Add adds an event.
func (b *Batch) Add(ev model.Event) { b.Events = append(b.Events, ev) }

// AddDelta adds an event for a piece of text, unless the piece is empty.
func (b *Batch) AddDelta(t model.EventType, delta string) {
	if delta != "" {
		b.Add(model.Event{Type: t, Delta: delta})
	}
}
