package model

// Spoken returns what was said in a conversation: what was given, and the text of
// the last answer to it. The thoughts, tool calls and results that led to an
// answer are left out, and so is an answer without a text. An answer that has no
// id was given, too.
func Spoken(messages []Message) []Message {
	said := make([]Message, 0, len(messages))
	var answer Message
	settle := func() {
		if len(answer.Parts) > 0 {
			said = append(said, answer)
		}
		answer = Message{}
	}
	for i := range messages {
		m := &messages[i]
		if m.Role == RoleTool {
			continue
		}
		if m.Role != RoleAssistant {
			settle()
			said = append(said, *m)
			continue
		}
		if m.ID == "" || answer.ID == "" {
			settle()
		}
		if text := m.Text(); text != "" {
			answer = Message{ID: m.ID, Role: RoleAssistant, Parts: []Part{Text(text)}}
		}
	}
	settle()
	return said
}
