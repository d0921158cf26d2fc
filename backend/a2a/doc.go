// Package a2abackend is the backend kind a2a: agents that run at peers which
// speak the Agent2Agent protocol, version 1 and, where the configuration allows
// it, 0.3.
//
// The configuration is trusted, the peer is not. Its card is checked before
// anything in it is used, credentials go to the origins that the configuration
// names and nowhere else, connections pass a guard against private addresses,
// and what the peer sends is bounded.
//
// A turn is a task at the peer, and a session a context. What the turn goes on
// from is kept before each message and when the peer has told the task's id, so
// that neither a restart here nor a connection that breaks loses the task, or
// begins a second one: a message is sent again with the same id alone, and never
// when the peer may have failed over it. Until the task has ended, or waits for
// somebody, it is followed by a stream where there is one, else by looking at it.
// Whatever ends the turn, other than the worker's end, ends the task too.
package a2abackend
