//go:build !race

package main

// slowdown is how much longer things may take under the race detector.
const slowdown = 1
