package native

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

func TestFeedbackIsGivenReplacedAndListed(t *testing.T) {
	w := serving(t)
	c := w.client("alice")
	good, bad := begin(t, c, "clerk", "one"), begin(t, c, "clerk", "two")
	followed(t, c, good.ID, 0)
	followed(t, c, bad.ID, 0)
	zero, half, one := 0.0, 0.5, 1.0
	for _, given := range []struct {
		turn string
		req  SaveFeedback
	}{
		{good.ID, SaveFeedback{Score: &zero}},
		{good.ID, SaveFeedback{Score: &one, Comment: "found it"}}, // replaces the first
		{bad.ID, SaveFeedback{Name: "tone", Score: &zero, Label: "rude"}},
	} {
		if _, err := c.SaveFeedback(t.Context(), given.turn, given.req); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]struct {
		q    FeedbackQuery
		list string
	}{
		"all":        {FeedbackQuery{}, "tone rude, user_feedback found it"},
		"low scores": {FeedbackQuery{MaxScore: &half}, "tone rude"},
		"a name":     {FeedbackQuery{Name: service.DefaultFeedback}, "user_feedback found it"},
		"new":        {FeedbackQuery{Since: time.Now().Add(time.Hour)}, ""},
		"an agent":   {FeedbackQuery{AgentID: "nobody"}, ""},
		"a page":     {FeedbackQuery{Page: store.Page{Limit: 1}}, "tone rude"},
	} {
		list, err := c.ListFeedback(t.Context(), want.q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range list.Feedback {
			got = append(got, strings.TrimSpace(f.Name+" "+f.Label+f.Comment))
			if f.Author != "acme/alice" || f.AgentID != "clerk" {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if strings.Join(got, ", ") != want.list {
			t.Errorf("%s: %q, want %q", name, got, want.list)
		}
	}
	if list, err := w.client("bob").ListFeedback(t.Context(), FeedbackQuery{}); err != nil || len(list.Feedback) > 0 {
		t.Errorf("a stranger sees %+v, %v", list, err)
	}
}

func TestBadFeedbackIsRejected(t *testing.T) {
	w := serving(t)
	c := w.client("alice")
	asks := begin(t, c, "clerk", "pay")
	until(t, c, asks.ID, store.Waiting)
	done := begin(t, c, "clerk", "one")
	followed(t, c, done.ID, 0)
	var state *service.StateError
	if _, err := c.SaveFeedback(t.Context(), asks.ID, SaveFeedback{Label: "good"}); !errors.As(err, &state) && !strings.Contains(err.Error(), "waiting") {
		t.Errorf("a live turn: %v", err)
	}
	for body, field := range map[string]string{
		`{}`: "score", `{"score":"1"}`: "score", `{"stars":5}`: "stars", `{"score":1e999}`: "score", `{"score":5}`: "score", `{"score":-0.1}`: "score", `{"name":"a\nb","score":1}`: "name",
		`{"label":"` + strings.Repeat("x", 257) + `"}`: "label", `{"comment":"` + strings.Repeat("x", 8193) + `"}`: "comment", `{"comment":"a\u0000"}`: "text",
	} {
		status, answer := w.answerTo("POST /turns/"+done.ID+"/feedback", body)
		if status != 400 || !strings.Contains(answer, field) {
			t.Errorf("%.40s: %d %s", body, status, answer)
		}
	}
	if _, err := w.client("bob").SaveFeedback(t.Context(), done.ID, SaveFeedback{Label: "good"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a stranger's feedback: %v", err)
	}
}
