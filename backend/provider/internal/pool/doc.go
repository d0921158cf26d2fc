// Package pool manages a provider's processes: it starts them, performs the handshake, watches
// their health, restarts them, and gives each session the same process every time.
//
// A slot is a place for one process, and has one goroutine that keeps it filled. The goroutine ends
// with Close, and with Rest.
//
// The sockets of processes are in a directory of the pool, which is removed with it. The next pool
// of the same user removes the directory of a killed runtime.
package pool
