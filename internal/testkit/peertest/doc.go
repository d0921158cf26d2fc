// Package peertest provides A2A peers for tests, which answer as the tests specify.
package peertest
