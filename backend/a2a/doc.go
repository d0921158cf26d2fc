// Package a2a is the backend kind a2a: agents that run at peers which
// speak the Agent2Agent protocol, version 1 and, where the configuration allows
// it, 0.3.
//
// A turn is an exchange with a peer (internal/exchange), within the turn's time and
// budgets. The peer is reached by a client that does not trust it (internal/client),
// and examined for the command doctor by internal/doctor.
//
// A turn is a task at the peer, and a session a context. What the turn goes on
// from is kept before each message and when the peer has told the task's id, so
// that neither a restart here nor a connection that breaks loses the task, or
// begins a second one.
// Whatever ends the turn, other than the worker's end, ends the task too.
package a2a
