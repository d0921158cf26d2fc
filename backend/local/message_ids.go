package local

import "strconv"

// messageIDs are the ids of the messages that a step adds.
type messageIDs struct {
	// prefix is the turn's id, as shown.
	prefix          string
	step            int
	answer, results string
}

// beginStep clears the ids of an earlier step.
func (m *messageIDs) beginStep(step int) {
	if m.step != step {
		*m = messageIDs{prefix: m.prefix, step: step}
	}
}

// answerID returns the id of a step's answer.
func (m *messageIDs) answerID(step int) string {
	m.beginStep(step)
	if m.answer == "" {
		m.answer = m.messageID("m")
	}
	return m.answer
}

// resultsID returns the id of the message with a step's results.
func (m *messageIDs) resultsID(step int) string {
	m.beginStep(step)
	if m.results == "" {
		m.results = m.messageID("t")
	}
	return m.results
}

// messageID returns the id of a message that the step adds.
func (m *messageIDs) messageID(kind string) string {
	return m.prefix + "/" + kind + strconv.Itoa(m.step)
}
