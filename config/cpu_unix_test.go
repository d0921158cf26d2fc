//go:build unix

package config_test

import (
	"syscall"
	"time"
)

// cpuTime returns the time this process has used, which does not depend on
// what else the machine does.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
