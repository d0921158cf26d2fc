// Package peertest has A2A peers for tests, which answer as the tests say.
package peertest
