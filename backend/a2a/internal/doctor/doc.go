// Package doctor examines A2A peers: their cards, and how their interfaces answer
// calls that change nothing.
package doctor
