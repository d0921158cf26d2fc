package exchange

import "fmt"

// phase is the state of an exchange.
//
//	  idle
//	   │ draft
//	   ▼
//	drafted ──send──▶ sent ◀─┐ send again
//	   ▲               │ └───┘
//	   │               ├──reply──▶ replied
//	   │               │ accept
//	   │               ▼
//	   │            working ──end──▶ ended
//	   │             │   ▲             ▲
//	   │         ask │   │ look        │
//	   │             ▼   │             │
//	   └──draft──── asking ─────end────┘
//
// In asking, replied and ended the exchange has settled: nothing more arrives unless the caller
// continues it. Any other change of the task by the peer is rejected.
type phase int

const (
	// phaseIdle is an exchange without a message.
	phaseIdle phase = iota
	// phaseDrafted has a message that was never sent.
	phaseDrafted
	// phaseSent has a message that may have been sent, and whose fate is unknown.
	phaseSent
	// phaseWorking means that the peer's task is running.
	phaseWorking
	// phaseAsking has a task that waits for an answer.
	phaseAsking
	// phaseReplied has a message as the answer, and no task.
	phaseReplied
	// phaseEnded has an ended task.
	phaseEnded
)

var phaseNames = [...]string{"idle", "drafted", "sent", "working", "asking", "replied", "ended"}

// String returns the name of the phase.
func (p phase) String() string { return phaseNames[p] }

// move leads from one phase to another. The first three are made here, the
// others by the peer.
type move int

const (
	// moveDraft prepares a new message.
	moveDraft move = iota
	// moveSend sends the message, or sends it again.
	moveSend
	// moveLook continues with an asking task without sending anything.
	moveLook
	// moveAccept means that the peer created a task.
	moveAccept
	// moveReply means that the peer answered without a task.
	moveReply
	// moveAsk means that the task waits for an answer.
	moveAsk
	// moveEnd means that the task has ended.
	moveEnd
)

var moveNames = [...]string{"draft", "send", "look", "accept", "reply", "ask", "end"}

// String returns the name of the move.
func (m move) String() string { return moveNames[m] }

// transitions are the moves that each phase allows.
var transitions = map[phase]map[move]phase{
	phaseIdle:    {moveDraft: phaseDrafted},
	phaseDrafted: {moveSend: phaseSent},
	phaseSent:    {moveSend: phaseSent, moveAccept: phaseWorking, moveReply: phaseReplied},
	phaseWorking: {moveAsk: phaseAsking, moveEnd: phaseEnded},
	phaseAsking:  {moveDraft: phaseDrafted, moveLook: phaseWorking, moveAsk: phaseAsking, moveEnd: phaseEnded},
}

// afterMove returns the phase that a move leads to. The error is a *moveError for a
// move that the phase does not allow.
func (p phase) afterMove(m move) (phase, error) {
	next, ok := transitions[p][m]
	if !ok {
		return p, &moveError{phase: p, move: m}
	}
	return next, nil
}

// isSettled reports whether nothing more comes without another message.
func (p phase) isSettled() bool { return p == phaseAsking || p == phaseReplied || p == phaseEnded }

// isAccepted reports whether the peer has the message.
func (p phase) isAccepted() bool { return p == phaseWorking || p.isSettled() }

// moveError reports a move that a phase does not allow.
type moveError struct {
	phase phase
	move  move
}

func (e *moveError) Error() string {
	return fmt.Sprintf("%q is not possible while the exchange is %s", e.move, e.phase)
}
