//go:build !unix

package usage

import "time"

var started = time.Now()

// CPUTime returns how long the process has run.
func CPUTime() time.Duration { return time.Since(started) }
