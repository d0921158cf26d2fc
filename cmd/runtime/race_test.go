//go:build race

package main

// slowdown is how much longer things may take under the race detector, while the
// tests of other packages run beside it.
const slowdown = 6
