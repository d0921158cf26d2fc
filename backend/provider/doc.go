// Package provider hosts agent providers: programs that speak the protocol of
// internal/providerproto. An entry under agent_providers in a configuration says how a provider is
// started or where it listens; an agent whose endpoint has backend: provider runs there.
//
// A turn of such an agent runs on the local loop, with the provider in the role of the model: its
// output up to a tool call is an answer, its tool calls are the answer's calls, and their results
// form the next request. So the turn's tools, rules, budgets, journal and interactions work as for
// other agents. The id of the provider's turn is derived from the turn's id, so that neither a
// restart nor a lost reply starts it twice.
package provider
