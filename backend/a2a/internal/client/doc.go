// Package client speaks to A2A peers that are not trusted.
//
// A Peer is a remote agent, described by an endpoint. Its card is checked before use, credentials
// are sent only to origins that the endpoint names, connections are guarded against private
// addresses, and response sizes are limited. Errors of calls are typed, and Judge classifies
// them.
package client
