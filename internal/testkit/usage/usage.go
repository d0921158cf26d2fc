// Package usage measures the resources that code uses: CPU time, which does not depend on the
// machine's other work, and memory.
package usage

import (
	"runtime/metrics"
	"time"
)

// Usage is the resources used by some code.
type Usage struct {
	// CPU is the CPU time that the process used on all processors.
	CPU time.Duration
	// Allocated is the number of allocated bytes, including freed ones.
	Allocated uint64
}

// Of runs code and returns the resources that the process used during it.
func Of(code func()) Usage {
	cpu, allocated := CPUTime(), allocatedBytes()
	code()
	return Usage{CPUTime() - cpu, allocatedBytes() - allocated}
}

// allocatedBytes returns the number of bytes that the process has allocated so far.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
