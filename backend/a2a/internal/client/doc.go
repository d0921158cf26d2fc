// Package client speaks to A2A peers that are not trusted.
//
// A Peer is one agent elsewhere, as an endpoint describes it. Its card is checked
// before anything in it is used, credentials go to the origins that the endpoint
// names and nowhere else, connections pass a guard against private addresses, and
// what the peer sends is bounded. The errors of calls are typed, and Judge
// classifies them.
package client
