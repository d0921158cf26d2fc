// Package providerproto is the protocol between hosts and providers of agents, as
// generated from provider.proto: messages, clients and servers.
//
// The generated files are committed. After a change of provider.proto, "make proto"
// writes them anew; a test compares them with what the pinned compiler makes of it.
package providerproto
