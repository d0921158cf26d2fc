// Package exchange sends a message to a peer and follows the result: a reply, or a task until it
// ends or asks a question.
//
// A message is sent again with the same id alone, and never when the peer may have
// failed over it. The task is followed by a stream where there is one, else by
// looking at it.
package exchange
