//go:build !unix

package bench

import (
	"testing"
	"time"
)

// cpu is unknown here.
func cpu(testing.TB) time.Duration { return 0 }
