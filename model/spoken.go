package model

// Spoken reduces a conversation to its input and the text of the last answer to each input. It
// drops reasoning, tool calls, results, and answers without text. An answer without an id counts
// as input.
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
