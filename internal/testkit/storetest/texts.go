package storetest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/store"
)

var textTests = []test{
	{name: "ATextThatIsNoneIsRefused", run: textsThatAreNone},
	{name: "PayloadsMayHoldAnything", run: payloadsMayHoldAnything},
	{name: "NothingHasAnIDThatIsNoText", run: idsThatAreNoText},
}

// foul are texts that no store accepts.
var foul = []string{"a\x00b", "\x00", "a\xffb", "\xed\xa0\x80"}

func textsThatAreNone(f *fixture) {
	c := f.createRunning("session", "turn")
	before := f.getTurn("turn")
	for n, text := range foul {
		session := f.sessionOf(ann, fmt.Sprintf("other-%d", n))
		session.Session.Labels = map[string]string{"label": text}
		_, labeled := f.CreateSession(f.Context(), session)
		_, named := f.CreateSession(f.Context(), f.sessionOf(ann, text))
		_, keyed := keyedTurn(f, "session", fmt.Sprintf("next-%d", n), store.Key{Value: text, Hash: []byte{1}})
		journal, artifact, asked, finish := f.commitOf(c), f.commitOf(c), f.commitOf(c), f.finishOf(c)
		journal.Journal = []store.JournalRow{{Key: text, Entry: json.RawMessage(`{}`)}}
		artifact.Artifacts = []*store.Artifact{f.artifactOf(&c.Turn, "artifact", "data")}
		artifact.Artifacts[0].Name = text
		asked.Asked = []*store.Interaction{f.questionOf(&c.Turn, text)}
		finish.Finish.Snapshot.FinishReason = text
		for what, err := range map[string]error{
			"a label": labeled, "an id": named, "a key": keyed,
			"the key of a call": f.Commit(f.Context(), journal), "the name of an artifact": f.Commit(f.Context(), artifact),
			"the id of a question": f.Commit(f.Context(), asked), "the reason of an end": f.Commit(f.Context(), finish),
		} {
			if !errors.Is(err, store.ErrText) {
				f.Errorf("%s is %q: %v", what, text, err)
			}
		}
	}
	wantEqual(f, "turn", f.getTurn("turn"), before)
}

func payloadsMayHoldAnything(f *fixture) {
	c := f.createRunning("session", "turn")
	foul := string([]byte{0, 0xff, 0xed, 0xa0, 0x80, '"'})
	commit := f.commitOf(c)
	commit.Events = append(commit.Events, f.eventOf(&c.Turn, c.Turn.Seq+1, foul))
	commit.State, commit.Steps, commit.Messages = []byte(foul), 1, [][]byte{[]byte(foul)}
	commit.Journal = []store.JournalRow{{Key: "key", Entry: json.RawMessage(foul), Result: json.RawMessage(foul)}}
	f.commitTurn(commit)
	events := f.listEvents("turn")
	if got := string(events[len(events)-1].Data); got != string(f.eventOf(&c.Turn, 1, foul).Data) {
		f.Errorf("the event has %q", got)
	}
	journal := try(f.Journal(f.Context(), "turn")).wantOK(f)
	if len(journal) != 1 || string(journal[0].Entry) != foul || string(journal[0].Result) != foul {
		f.Errorf("the journal has %q", journal)
	}
}

func idsThatAreNoText(f *fixture) {
	f.createRunning("session", "turn")
	for _, id := range foul {
		scope := store.Of(ann)
		_, session := f.Session(f.Context(), scope, id)
		_, changed := f.UpdateSession(f.Context(), scope, id, store.SessionPatch{Now: f.now})
		_, turn := f.Turn(f.Context(), scope, id)
		_, updated := f.UpdateTurn(f.Context(), scope, id, store.TurnPatch{Now: f.now})
		_, ended := f.EndTurn(f.Context(), f.endOf(id))
		_, question := f.Interaction(f.Context(), scope, "turn", id)
		_, answered := f.AnswerInteraction(f.Context(), f.answerOf("turn", id, `{}`))
		_, snapshot := f.Snapshot(f.Context(), scope, id)
		_, artifact := f.Artifact(f.Context(), scope, id)
		_, webhook := f.Webhook(f.Context(), scope, "turn", id)
		_, claimed := f.Claim(f.Context(), f.claimOf(id))
		for what, err := range map[string]error{
			"session": session, "change of a session": changed, "deletion of a session": f.DeleteSession(f.Context(), scope, id),
			"turn": turn, "change of a turn": updated, "end of a turn": ended, "question": question, "answer": answered,
			"snapshot": snapshot, "artifact": artifact, "webhook": webhook,
			"deletion of a webhook": f.DeleteWebhook(f.Context(), scope, "turn", id), "claim": claimed,
		} {
			if !errors.Is(err, store.ErrNotFound) {
				f.Errorf("%s %q: %v", what, id, err)
			}
		}
	}
}
