// Package providerproto is the protocol between hosts and providers of agents, as
// generated from provider.proto: messages, clients and servers.
//
// The generated files are committed. After a change of provider.proto, run "make proto"; a test
// compares the files with the output of the pinned compiler.
package providerproto
