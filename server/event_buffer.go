package server

import (
	"bytes"
	"sync"
)

// batches are the buffers of streams; an idle stream has no buffer.
var batches = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxBatch is how many bytes of a stream are buffered before sending, while more events are
// available. Buffers that grew beyond maxKept are not reused.
const (
	maxBatch = 64 << 10
	maxKept  = 4 * maxBatch
)

// releaseBuffer returns a buffer to the pool.
func releaseBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxKept {
		b.Reset()
		batches.Put(b)
	}
}
