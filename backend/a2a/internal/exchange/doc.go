// Package exchange sends a message to a peer and follows what the peer makes of it:
// a reply, or a task, until that has ended or asks something.
//
// A message is sent again with the same id alone, and never when the peer may have
// failed over it. The task is followed by a stream where there is one, else by
// looking at it.
package exchange
