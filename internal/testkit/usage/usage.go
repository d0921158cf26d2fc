// Package usage measures what code takes: the time of the processor, which does not depend
// on what else the machine does, and memory.
package usage

import (
	"runtime/metrics"
	"time"
)

// Usage is what some code took.
type Usage struct {
	// CPU is the CPU time that the process used on all processors.
	CPU time.Duration
	// Allocated is how many bytes were allocated, whether or not they are free again.
	Allocated uint64
}

// Of runs code and returns the resources that the process used during it.
func Of(code func()) Usage {
	cpu, allocated := CPUTime(), allocatedBytes()
	code()
	return Usage{CPUTime() - cpu, allocatedBytes() - allocated}
}

// allocatedBytes returns how many bytes the process has allocated since it began.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
