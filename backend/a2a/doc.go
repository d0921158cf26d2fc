// Package a2abackend is the backend kind a2a: agents that run at peers which
// speak the Agent2Agent protocol, version 1 and, where the configuration allows
// it, 0.3.
//
// The configuration is trusted, the peer is not. Its card is checked before
// anything in it is used, credentials go to the origins that the configuration
// names and nowhere else, connections pass a guard against private addresses,
// and what the peer sends is bounded.
package a2abackend
