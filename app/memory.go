package app

import (
	"bytes"
	"math"
	"os"
	"runtime/debug"
	"strconv"
)

// memoryLimit returns the memory limit for turns in bytes: the configured one, or 90 % of the
// process's limit; 0 if unknown.
func memoryLimit(configured *int64) int64 {
	if configured != nil {
		return *configured
	}
	const tenth = 10
	limit := debug.SetMemoryLimit(-1) // GOMEMLIMIT
	if limit == math.MaxInt64 {
		limit = systemMemory()
	}
	if limit == math.MaxInt64 {
		return 0
	}
	return limit - limit/tenth
}

// systemMemory returns the memory of the control group or of the machine, whichever is less;
// math.MaxInt64 if unknown.
func systemMemory() int64 {
	limit := int64(math.MaxInt64)
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if data, err := os.ReadFile(file); err == nil {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64); err == nil && n > 0 {
				limit = min(limit, n)
			}
		}
	}
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		if fields := bytes.Fields(data); len(fields) > 1 && string(fields[0]) == "MemTotal:" {
			if kilobytes, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
				limit = min(limit, kilobytes<<10)
			}
		}
	}
	return limit
}
