// Package provider hosts providers of agents: programs that speak the protocol of
// internal/providerproto. An entry under agent_providers in a configuration names how a
// provider is started or where it listens; an agent whose endpoint has backend: provider
// runs there.
//
// A turn of such an agent is a turn of the local loop, in which the provider takes the
// place of the model: what the provider says until it calls tools is an answer, the
// calls are tool calls of that answer, and what they came to is the next request. So
// the turn's tools, rules, budgets, journal and interactions are those of every other
// agent. The provider's turn is told apart by an id that is made of that of our turn,
// so that neither a restart here nor a lost reply begins it twice.
package provider
