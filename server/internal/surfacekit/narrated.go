package surfacekit

import (
	"bytes"
	"context"

	"github.com/agentruntime/agentruntime/event"
)

// Narrated is the part of an Answer that all surfaces with a Narrator share. The surface
// embeds it, is the teller of the Narrator and adds Begin and Fail.
type Narrated struct {
	*Narrator
	// Out is the buffer that the answer is written to.
	Out   *bytes.Buffer
	ended bool
}

// WriteTo sets the buffer.
func (a *Narrated) WriteTo(b *bytes.Buffer) { a.Out = b }

// WriteEvent writes an event with its type.
func (a *Narrated) WriteEvent(kind string, fields map[string]any) {
	fields["type"] = kind
	WriteFrame(a.Out, fields)
}

// AddRecords adds records of the log.
func (a *Narrated) AddRecords(_ context.Context, records []event.Record) error { return a.Add(records) }

// Finish ends a turn whose log lacks its end, or that ended before the answer began.
func (a *Narrated) Finish(d *event.RunFinish) {
	if a.Narrator.Finish(d); !a.ended {
		a.teller.End(d)
	}
}

// SetEnded records that the answer is complete.
func (a *Narrated) SetEnded() { a.ended = true }

// Ended reports whether the answer is complete.
func (a *Narrated) Ended() bool { return a.ended }

// Leave does nothing: the turn continues without its client.
func (*Narrated) Leave(context.Context, error) {}
