// Package client calls A2A peers without trusting them.
//
// A Peer is a remote agent, described by an endpoint. Its card is checked before use, credentials
// are sent only to origins that the endpoint names, connections are guarded against private
// addresses, and response sizes are limited. Errors of calls are typed, and Judge classifies them.
package client
