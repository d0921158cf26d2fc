package server

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// eventConn is the connection of an event stream that was taken from net/http,
// which holds about 20 KiB and two goroutines for each request as long as it lasts.
// It writes the rest of the response, in chunks, and waits: the one goroutine of an
// idle stream sits in a read, from which news wake it, so that a client that goes
// away is noticed at once. It is the response writer of a response that has begun.
type eventConn struct {
	net.Conn
	owner *eventConns
	// unasked is where Wait reads: what comes is no request, and is not watched as one.
	unasked net.Conn
	// reusable tells that another request may come on the connection.
	reusable bool
	// pending are the chunks that were written and not sent; nil when there are none.
	pending *bytes.Buffer
	// ignored is how many bytes the client sent that nobody asked for.
	ignored int
	// gone tells that Wait found the client gone.
	gone bool

	mu   sync.Mutex
	wait waitPhase
}

// waitPhase is what Wait does.
//
//	          Wait               Wake
//	idle ◀──────────▶ waiting ──────────▶ woken ──▶ idle, when Wait returns
//	  └─────────────────── Wake ───────────▲
type waitPhase uint8

const (
	// waitIdle: nobody waits, and nothing woke.
	waitIdle waitPhase = iota
	// waitReading: Wait reads.
	waitReading
	// waitWoken: this Wait, or the next one, is to return.
	waitWoken
)

// maxIgnored is how much a client may send while it is streamed to, in bytes. The
// requests after its own are not answered: the connection is closed at the end.
const maxIgnored = 64 << 10

// maxCopied is how large a chunk may be to be copied before it is sent, in bytes.
const maxCopied = 16 << 10

var (
	longAgo   = time.Unix(1, 0)
	lastChunk = []byte("0\r\n\r\n")
	chunkEnd  = []byte("\r\n")
)

// Header is that of a response that was sent: changes have no effect.
func (*eventConn) Header() http.Header { return http.Header{} }

// WriteHeader does nothing: the header was sent.
func (*eventConn) WriteHeader(int) {}

// Write adds a chunk, which FlushError sends. A large one is sent at once, so that
// there are not two copies of it.
func (c *eventConn) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var size [16]byte
	b := c.pendingBuffer()
	b.Write(strconv.AppendUint(size[:0], uint64(len(p)), 16))
	b.Write(chunkEnd)
	if len(p) < maxCopied {
		b.Write(p)
		b.Write(chunkEnd)
		return len(p), nil
	}
	if err := c.FlushError(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if err == nil {
		c.pendingBuffer().Write(chunkEnd)
	}
	return n, err
}

// pendingBuffer returns what is to be sent, to add to it.
func (c *eventConn) pendingBuffer() *bytes.Buffer {
	if c.pending == nil {
		c.pending = batches.Get().(*bytes.Buffer)
	}
	return c.pending
}

// FlushError sends the chunks.
func (c *eventConn) FlushError() error {
	if c.pending == nil {
		return nil
	}
	b := c.pending
	c.pending = nil
	defer releaseBuffer(b)
	_, err := c.Conn.Write(b.Bytes())
	return err
}

// Wait waits until Wake, or until idle has passed. The error is ErrClientGone.
func (c *eventConn) Wait(idle time.Duration) (quiet bool, err error) {
	var deadline time.Time
	if idle > 0 {
		deadline = time.Now().Add(idle)
	}
	if !c.beginWait(deadline) {
		return false, nil
	}
	for err == nil {
		var b [1]byte
		var n int
		n, err = c.unasked.Read(b[:])
		if c.ignored += n; c.ignored > maxIgnored {
			err = ErrClientGone
		}
	}
	woken := c.endWait()
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.gone = true
		return false, ErrClientGone
	}
	return !woken, nil
}

// beginWait sets when a read ends at the latest. It is false when there was a Wake.
func (c *eventConn) beginWait(deadline time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wait == waitWoken {
		c.wait = waitIdle
		return false
	}
	c.wait = waitReading
	_ = c.SetReadDeadline(deadline) // a connection that is closed fails to be read
	return true
}

// endWait reports whether a Wake ended it.
func (c *eventConn) endWait() (woken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	woken, c.wait = c.wait == waitWoken, waitIdle
	return woken
}

// Wake ends a Wait.
func (c *eventConn) Wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	reads := c.wait == waitReading
	c.wait = waitWoken
	if reads {
		_ = c.SetReadDeadline(longAgo) // a connection that is closed fails to be read
	}
}

// finishResponse ends the response. One that is not whole, or to a client that is gone, ends
// in the middle with the connection.
func (c *eventConn) finishResponse(whole bool) {
	if whole {
		c.pendingBuffer().Write(lastChunk)
		whole = c.FlushError() == nil
	}
	if c.pending != nil {
		releaseBuffer(c.pending)
		c.pending = nil
	}
	c.owner.endStream(c, whole && c.reusable && c.ignored == 0)
}
