// Package pool keeps the processes of a provider: it starts them, goes through the
// hand-shake, watches their health, starts them again, and gives each session the
// same one every time.
//
// A slot is a place for one process, and has one goroutine that keeps it filled. The
// goroutine ends with Close, and with Rest.
//
// The sockets of processes are in a directory of the pool, which is removed with it. The next
// pool of the same user removes the directory of a killed runtime.
package pool
