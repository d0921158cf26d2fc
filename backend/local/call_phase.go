package local

// callPhase is the progress of a tool call within a step. Each transition is a callMove. An
// invalid transition is a bug of the loop and panics, which fails the turn: losing a call is
// better than making it twice.
//
//	asked ─allow─▶ allowed ─enter─▶ entered ─start─▶ running ─settle─▶ returned ─finish─▶ over
//	               allowed ─doubt─▶ inDoubt ─enter─▶ entered
//	                                inDoubt ─settle─▶ returned
//	asked, inDoubt, running ─suspend─▶ waiting
//	asked, waiting ─answer─▶ asked
//	allowed, inDoubt ─withdraw─▶ asked
//	asked, waiting, allowed, entered ─settle─▶ over
//
// A State stores a call as asked, waiting, allowed, returned or over. A call that was inDoubt,
// entered or running is stored as allowed; its journal entry shows whether it started.
type callPhase uint8

const (
	// callAsked: the model requested the call, which is not decided yet.
	callAsked callPhase = iota
	// callWaiting: it waits for answers from outside.
	callWaiting
	// callAllowed: the gates allowed it.
	callAllowed
	// callInDoubt: it was running when the process died, and was not settled.
	callInDoubt
	// callEntered: it is journaled as about to begin.
	callEntered
	// callRunning: its tool works.
	callRunning
	// callReturned: it has a result, but the hooks after it have not run.
	callReturned
	// callOver: it has a result and needs nothing more.
	callOver

	callPhases
)

var phaseNames = [callPhases]string{"asked", "waiting", "allowed", "in doubt", "entered", "running", "returned", "over"}

func (p callPhase) String() string { return phaseNames[p] }

// isLetThrough reports whether the gates allowed the call and the hooks after it have not run.
func (p callPhase) isLetThrough() bool { return p >= callAllowed && p <= callReturned }

// hasResult reports whether the call has the result that the model will see.
func (p callPhase) hasResult() bool { return p >= callReturned }

// callMove is a transition of a call.
type callMove uint8

const (
	// moveAllow: the gates allow it.
	moveAllow callMove = iota
	// moveSuspend: it has to wait for answers.
	moveSuspend
	// moveAnswer: the answers arrived, and it is decided again.
	moveAnswer
	// moveWithdraw: its tool was removed, and it is decided again.
	moveWithdraw
	// moveDoubt: the process died while it was running.
	moveDoubt
	// moveEnter: it is entered in the journal.
	moveEnter
	// moveStart: its tool is called.
	moveStart
	// moveSettle: it has a result.
	moveSettle
	// moveFinish: the hooks after it ran.
	moveFinish

	callMoves
)

var moveNames = [callMoves]string{"allow", "suspend", "answer", "withdraw", "doubt", "enter", "start", "settle", "finish"}

func (m callMove) String() string { return moveNames[m] }

// afterMove returns the phase that a move leads to; false if the phase does not allow the move.
func (p callPhase) afterMove(m callMove) (callPhase, bool) {
	switch m {
	case moveAllow:
		return callAllowed, p == callAsked
	case moveSuspend:
		return callWaiting, p == callAsked || p == callInDoubt || p == callRunning
	case moveAnswer:
		return callAsked, p == callWaiting || p == callAsked
	case moveWithdraw:
		return callAsked, p == callAllowed || p == callInDoubt
	case moveDoubt:
		return callInDoubt, p == callAllowed
	case moveEnter:
		return callEntered, p == callAllowed || p == callInDoubt
	case moveStart:
		return callRunning, p == callEntered
	case moveSettle:
		if p == callInDoubt || p == callRunning {
			return callReturned, true
		}
		return callOver, p < callReturned
	case moveFinish:
		return callOver, p == callReturned
	default:
		return p, false
	}
}
