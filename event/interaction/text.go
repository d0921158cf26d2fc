package interaction

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// AnswerForms returns the possible meanings of a text as the answer to a question, in the order
// to try them: the text, the choice it names, yes or no, JSON, and each of these as the only
// requested field. The schema describes the answer.
func AnswerForms(text string, schema json.RawMessage) []json.RawMessage {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	quoted, _ := json.Marshal(text) // a text
	plain := []json.RawMessage{quoted}
	if choice := choiceOf(text, schema); choice != nil {
		plain = append(plain, choice)
	}
	if yes, ok := parseYesNo(text); ok {
		word, _ := json.Marshal(yes) // a boolean
		plain = append(plain, word)
	}
	if raw := []byte(text); json.Valid(raw) {
		plain = append(plain, raw)
	}
	field := onlyField(schema)
	if field == "" {
		return plain
	}
	forms := slices.Clone(plain)
	for _, value := range plain {
		object, _ := json.Marshal(map[string]json.RawMessage{field: value}) // JSON in JSON
		forms = append(forms, object)
	}
	return forms
}

// ReadAnswer interprets a text as the answer to a request, using the first form that fits. The
// error explains why none fits.
func ReadAnswer(ctx context.Context, request *Request, text string) (json.RawMessage, error) {
	err := error(&AnswerError{Target: request.ID, Problem: "it is empty"})
	for i, form := range AnswerForms(text, request.ResponseSchema) {
		wrong := Check(ctx, request, &Answer{Target: request.ID, Action: Resume, Result: form})
		if wrong == nil {
			return form, nil
		}
		if i == 0 {
			err = wrong
		}
	}
	return nil, err
}

// choiceOf returns the choice that a text names, ignoring case; nil if it names none or several.
func choiceOf(text string, schema json.RawMessage) json.RawMessage {
	var form struct {
		Enum []json.RawMessage `json:"enum"`
	}
	if json.Unmarshal(schema, &form) != nil {
		return nil
	}
	var found json.RawMessage
	for _, choice := range form.Enum {
		var word string
		if json.Unmarshal(choice, &word) != nil || !strings.EqualFold(word, text) {
			continue
		}
		if found != nil {
			return nil
		}
		found = choice
	}
	return found
}

// onlyField returns the field of an object that a plain answer sets: "approved", the only
// required field, or the only field.
func onlyField(schema json.RawMessage) string {
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if len(bytes.TrimSpace(schema)) == 0 || json.Unmarshal(schema, &form) != nil {
		return ""
	}
	if _, ok := form.Properties["approved"]; ok {
		return "approved"
	}
	if len(form.Required) == 1 {
		return form.Required[0]
	}
	if len(form.Properties) == 1 {
		for name := range form.Properties {
			return name
		}
	}
	return ""
}

// parseYesNo reads a word as an answer to a yes-or-no question.
func parseYesNo(text string) (yes, ok bool) {
	switch strings.ToLower(strings.TrimRight(text, ".!")) {
	case "yes", "y", "true", "ok", "okay", "approve", "approved", "allow", "accept":
		return true, true
	case "no", "n", "false", "deny", "denied", "reject", "rejected", "refuse", "decline":
		return false, true
	default:
		return false, false
	}
}
