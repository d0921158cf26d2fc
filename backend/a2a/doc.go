// Package a2a implements the backend kind a2a: agents that run at peers which speak the Agent2Agent
// protocol, version 1 and, if configured, 0.3.
//
// A turn is an exchange with a peer (internal/exchange), within the turn's time and budgets.
// internal/client connects to the peer without trusting it, and internal/doctor examines it for the
// command doctor.
//
// A turn is a task at the peer, and a session a context. The turn's state is saved before each
// message and once the task's id is known, so neither a restart nor a broken connection loses the
// task or starts a second one. Whatever ends the turn, except the end of its worker, also ends the
// task.
package a2a
