// Package providerproto is the protocol between hosts and agent providers, generated from
// provider.proto: messages, clients and servers.
//
// The generated files are committed. After changing provider.proto, run "make proto"; a test
// compares the files with the output of the pinned compiler.
package providerproto
