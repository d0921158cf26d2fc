package vendorhttp

import (
	"net/http"
	"strconv"
	"time"
)

// longestWait bounds the delay that a server may request, so that an absurd number does not
// overflow. The runtime decides whether to wait that long.
const longestWait = 24 * time.Hour

// retryAfter returns the delay that the server requests, or 0: retry-after-ms, which is finer, else
// Retry-After in seconds or as a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if wait, ok := parseWait(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait
	}
	value := h.Get("Retry-After")
	if wait, ok := parseWait(value, time.Second); ok {
		return wait
	}
	if date, err := http.ParseTime(value); err == nil {
		return clampWait(date.Sub(now))
	}
	return 0
}

func parseWait(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n != n || n < 0 {
		return 0, false
	}
	if n > float64(longestWait/unit) {
		return longestWait, true
	}
	return clampWait(time.Duration(n * float64(unit))), true
}

func clampWait(d time.Duration) time.Duration { return min(max(d, 0), longestWait) }
