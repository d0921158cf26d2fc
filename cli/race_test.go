//go:build race

package cli

// slowdown is how much longer things may take under the race detector.
const slowdown = 3
