// Package agentruns speaks the agent-runs protocol: clients ask for runs of
// declared agents, or of agents that they describe themselves, with tools that the
// server runs and tools that the client answers for, and follow them as
// server-sent events. A run is a turn, and a session is a session.
package agentruns
