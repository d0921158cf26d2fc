package vendorhttp

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		millis, value string
		want          time.Duration
	}{
		{"", "", 0},
		{"", "7", 7 * time.Second},
		{"", "0.5", 500 * time.Millisecond},
		{"1500", "7", 1500 * time.Millisecond},
		{"nonsense", "7", 7 * time.Second},
		{"", "Fri, 01 May 2026 12:00:30 GMT", 30 * time.Second},
		{"", "Friday, 01-May-26 12:00:30 GMT", 30 * time.Second},
		{"", "Fri, 01 May 2026 11:00:00 GMT", 0},
		{"", "-3", 0},
		{"", "NaN", 0},
		{"", "Inf", longestWait},
		{"", "1e300", longestWait},
		{"1e300", "", longestWait},
		{"", "Fri, 01 May 2099 12:00:30 GMT", longestWait},
		{"", "soon", 0},
	} {
		h := http.Header{"Retry-After": {tt.value}, "Retry-After-Ms": {tt.millis}}
		if got := retryAfter(h, now); got != tt.want {
			t.Errorf("retry-after-ms %q, retry-after %q mean %s, want %s", tt.millis, tt.value, got, tt.want)
		}
	}
}
