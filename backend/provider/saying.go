package provider

import (
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
)

// saying collects and forwards the provider's output in an answer.
type saying struct {
	yield func(model.Event, error) bool
	// text is the output since the last complete message, whole is all output.
	text, whole strings.Builder
	// marks hold the length of whole before each event that added to it.
	marks   []mark
	thought bool
	failure string
}

// mark is the start of a provider event's text.
type mark struct {
	seq int64
	at  int
}

// pass forwards parts of an answer. It fails if the answer is no longer read.
func (s *saying) pass(events ...model.Event) error {
	for i := range events {
		if !s.yield(events[i], nil) {
			return errStopped
		}
	}
	return nil
}

// errStopped reports that the answer is no longer read.
var errStopped = errors.New("the answer is not read any more")

// say forwards a piece of text.
func (s *saying) say(text string) error {
	if text = clip.Clean(text); text == "" {
		return nil
	}
	s.text.WriteString(text)
	s.whole.WriteString(text)
	return s.pass(model.Event{Type: model.EventText, Delta: text})
}

// takeBack retracts the output since an event, because the provider's model is called again.
func (s *saying) takeBack(since int64) error {
	kept := s.whole.String()
	for i, m := range s.marks {
		if m.seq >= since {
			kept, s.marks = kept[:m.at], s.marks[:i]
			break
		}
	}
	if kept == s.whole.String() {
		return nil
	}
	if err := s.pass(model.Event{Type: model.EventReset, Delta: "the provider asks its model again"}); err != nil {
		return err
	}
	s.text.Reset()
	s.whole.Reset()
	s.thought = false
	return s.say(kept)
}

// complete takes the text of a whole message, part of which may already have been sent.
func (s *saying) complete(text string) error {
	text = clip.Clean(text)
	said := s.text.String()
	s.text.Reset()
	if strings.TrimSpace(said) == strings.TrimSpace(text) {
		return nil
	}
	rest, ok := strings.CutPrefix(text, said)
	if !ok {
		return nil // sent text stays, and the turn's end decides
	}
	err := s.say(rest)
	s.text.Reset()
	return err
}

// conclude handles the text of the whole turn. It keeps this answer's output if it is part of the
// text, and replaces it otherwise.
func (s *saying) conclude(text string) error {
	text = clip.Clean(text)
	said := s.whole.String()
	switch trimmed := strings.TrimSpace(text); {
	case trimmed == "" && said != "", said != "" && strings.HasSuffix(trimmed, strings.TrimSpace(said)), said != "" && strings.HasSuffix(strings.TrimSpace(said), trimmed):
		return nil
	case strings.HasPrefix(text, said):
		return s.say(text[len(said):])
	}
	if err := s.pass(model.Event{Type: model.EventReset, Delta: "the provider's answer is another than it had begun with"}); err != nil {
		return err
	}
	s.whole.Reset()
	return s.say(text)
}
