// Package pool keeps the processes of a provider: it starts them, goes through the
// hand-shake, watches their health, starts them again, and gives each session the
// same one every time.
//
// A slot is a place for one process, and has one goroutine that keeps it filled. The
// goroutine ends with Close, and with Rest.
package pool
