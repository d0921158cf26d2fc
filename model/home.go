package model

import (
	"hash/fnv"
	"math"
)

// Home is a pool's policy for choosing the member that serves a session.
type Home string

// The ways to choose a home.
const (
	// HomeDeterministic picks by a weighted hash of the session, so that every
	// process picks the same.
	HomeDeterministic Home = "deterministic"
	// HomeRoundRobin picks in rotation, by weight.
	HomeRoundRobin Home = "round_robin"
	// HomeFirstHealthy picks the first working member.
	HomeFirstHealthy Home = "first_healthy"
)

// scoreRendezvous scores a member for a session so that each member wins a share of sessions in
// proportion to its weight, and removing a member moves only that member's sessions.
func scoreRendezvous(session, member string, weight float64) float64 {
	h := fnv.New64a()
	h.Write([]byte(session))
	h.Write([]byte{0})
	h.Write([]byte(member))
	// The top 52 bits plus a half fit a float exactly, so u is strictly between 0 and 1.
	u := (float64(mixHash(h.Sum64())>>12) + 0.5) / (1 << 52)
	return weight / -math.Log(u)
}

// mixHash spreads the bits of a hash: FNV's upper bits change little between texts that differ only
// in their last bytes.
func mixHash(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// maxSeats limits the number of sessions whose seats a pool remembers.
const maxSeats = 4096

// seat is the member that serves a session.
type seat struct {
	home int
	// moves counts how often the session changed its home.
	moves int
}
