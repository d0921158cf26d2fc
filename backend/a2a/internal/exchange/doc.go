// Package exchange sends a message to a peer and follows the result: a reply, or a task until it
// ends or asks a question.
//
// A message is only sent again with the same id, and never if the peer may have failed on it. The
// task is followed by a stream if available, or else by polling.
package exchange
