package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var feedbackTests = []test{
	{name: "FeedbackIsReadAsItWasGiven", run: feedbackIsReadAsItWasGiven},
	{name: "FeedbackReplacesItsNamesake", run: feedbackReplacesItsNamesake},
	{name: "FeedbackIsFiltered", run: feedbackIsFiltered},
	{name: "PagesOfFeedbackMissNothing", run: pagesOfFeedbackMissNothing},
	{name: "FeedbackIsBoundedAndNeedsAVisibleTurn", run: feedbackIsBoundedAndNeedsAVisibleTurn},
	{name: "ADeletedSessionHasNoFeedback", run: aDeletedSessionHasNoFeedback},
}

// createRated creates a session with an ended turn.
func createRated(f *fixture, session, turn string) *store.Turn {
	f.Helper()
	f.createSessions(session)
	f.createSucceeded(session, turn)
	return try(f.Turn(f.Context(), store.Everything, turn)).wantOK(f)
}

// rateTurn rates a turn; a negative score omits the score.
func rateTurn(f *fixture, turn, name string, score float64) *store.Feedback {
	f.Helper()
	given := &store.Feedback{TurnID: turn, Name: name, Label: "l", Comment: "c\nd", Author: "acme/ann", UpdatedAt: f.now}
	if score >= 0 {
		given.Score = &score
	}
	return try(f.SaveFeedback(f.Context(), store.Everything, given, 3)).wantOK(f)
}

// feedbackNames returns turn, name and score of a page of feedback.
func feedbackNames(f *fixture, q store.FeedbackQuery) (names []string, next string) {
	f.Helper()
	q.Scope.All = q.Scope.Owner == store.Owner{}
	page := try(f.Feedback(f.Context(), q)).wantOK(f)
	for _, one := range page.Feedback {
		name := one.TurnID + "/" + one.Name
		if one.Score != nil {
			name += fmt.Sprintf("=%v", *one.Score)
		}
		names = append(names, name)
	}
	return names, page.Next
}

func feedbackIsReadAsItWasGiven(f *fixture) {
	turn := createRated(f, "s", "t")
	saved := rateTurn(f, "t", "help", 0.25)
	quarter := 0.25
	want := &store.Feedback{
		TurnID: "t", Name: "help", AgentID: turn.AgentID, Owner: turn.Owner, Score: &quarter, Label: "l", Comment: "c\nd", Author: "acme/ann", UpdatedAt: saved.UpdatedAt,
	}
	wantEqual(f, "the saved feedback", saved, want)
	page := try(f.Feedback(f.Context(), store.FeedbackQuery{Scope: store.Of(turn.Owner), TurnID: "t"})).wantOK(f)
	wantEqual(f, "the feedback", page.Feedback, []*store.Feedback{want})
}

func feedbackReplacesItsNamesake(f *fixture) {
	createRated(f, "s", "t")
	rateTurn(f, "t", "a", 1)
	rateTurn(f, "t", "b", -1)
	f.now = f.now.Add(time.Minute)
	rateTurn(f, "t", "a", 0)
	names, _ := feedbackNames(f, store.FeedbackQuery{})
	wantEqual(f, "the feedback", names, []string{"t/b", "t/a=0"})
}

func feedbackIsFiltered(f *fixture) {
	turn := createRated(f, "s", "t")
	createRated(f, "s2", "u")
	rateTurn(f, "t", "a", 0.5)
	rateTurn(f, "u", "a", 0.75)
	f.now = f.now.Add(time.Hour)
	rateTurn(f, "u", "b", -1)
	half := 0.5
	for what, want := range map[string]struct {
		q    store.FeedbackQuery
		list []string
	}{
		"all":        {store.FeedbackQuery{}, []string{"u/b", "u/a=0.75", "t/a=0.5"}},
		"a turn":     {store.FeedbackQuery{TurnID: "u"}, []string{"u/b", "u/a=0.75"}},
		"a name":     {store.FeedbackQuery{Name: "b"}, []string{"u/b"}},
		"low scores": {store.FeedbackQuery{MaxScore: &half}, []string{"t/a=0.5"}},
		"new ones":   {store.FeedbackQuery{Since: f.now.Add(-time.Minute)}, []string{"u/b"}},
		"an agent":   {store.FeedbackQuery{AgentID: turn.AgentID, TurnID: "t"}, []string{"t/a=0.5"}},
		"no agent":   {store.FeedbackQuery{AgentID: "nobody"}, nil},
		"others":     {store.FeedbackQuery{Scope: store.Of(store.Owner{Tenant: "other", Subject: "eve"})}, nil},
	} {
		names, _ := feedbackNames(f, want.q)
		wantEqual(f, what, names, want.list)
	}
}

func pagesOfFeedbackMissNothing(f *fixture) {
	for n := range 5 {
		id := fmt.Sprint("t", n)
		createRated(f, "s"+id, id)
		rateTurn(f, id, "a", 1)
	}
	var all []string
	for q := (store.FeedbackQuery{Page: store.Page{Limit: 2}}); ; {
		names, next := feedbackNames(f, q)
		all = append(all, names...)
		if next == "" {
			break
		}
		q.Page.After = next
	}
	wantEqual(f, "the pages", all, []string{"t4/a=1", "t3/a=1", "t2/a=1", "t1/a=1", "t0/a=1"})
}

func feedbackIsBoundedAndNeedsAVisibleTurn(f *fixture) {
	createRated(f, "s", "t")
	for _, name := range []string{"a", "b", "c", "a"} {
		rateTurn(f, "t", name, 1)
	}
	given := &store.Feedback{TurnID: "t", Name: "d", UpdatedAt: f.now}
	var limit *store.LimitError
	if _, err := f.SaveFeedback(f.Context(), store.Everything, given, 3); !errors.As(err, &limit) || limit.Limit != 3 {
		f.Errorf("one too many: %v", err)
	}
	if _, err := f.SaveFeedback(f.Context(), store.Of(store.Owner{Tenant: "other"}), given, 3); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("a stranger's: %v", err)
	}
	for _, text := range foul {
		if _, err := f.SaveFeedback(f.Context(), store.Everything, &store.Feedback{TurnID: "t", Name: "a", Comment: text, UpdatedAt: f.now}, 3); !errors.Is(err, store.ErrText) {
			f.Errorf("the comment is %q: %v", text, err)
		}
	}
}

func aDeletedSessionHasNoFeedback(f *fixture) {
	createRated(f, "s", "t")
	rateTurn(f, "t", "a", 1)
	wantOK(f, f.DeleteSession(f.Context(), store.Everything, "s"))
	names, _ := feedbackNames(f, store.FeedbackQuery{})
	wantEqual(f, "the feedback", names, nil)
}
