package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

var commitTests = []test{
	{name: "EventsFollowEachOther", run: eventsFollowEachOther},
	{name: "EventsAreReadFromAPlace", run: eventsAreReadFromAPlace},
	{name: "EventsWithAGapAreRefused", run: eventsWithAGapAreRefused},
	{name: "BytesAreKeptAsTheyAre", run: bytesAreKeptAsTheyAre},
	{name: "MessagesAreAdded", run: messagesAreAdded},
	{name: "TheJournalIsKeptByKey", run: theJournalIsKeptByKey},
	{name: "TheStateIsReplaced", run: theStateIsReplaced},
	{name: "AStateClearsTheStrikes", run: aStateClearsTheStrikes},
	{name: "ACommitMayBeEmpty", run: aCommitMayBeEmpty},
	{name: "AYieldHandsTheTurnBack", run: aYieldHandsTheTurnBack},
	{name: "AYieldMayWaitForAWhile", run: aYieldMayWaitForAWhile},
}

func eventsFollowEachOther(f *fixture) {
	c := f.createRunning("s", "t")
	var want []event.Record
	for _, n := range []int{1, 3, 0, 20, 2} {
		add := f.commitOf(c)
		add.Now = f.now.Add(time.Duration(len(want)) * time.Second)
		for range n {
			seq := uint64(len(want) + 1)
			ev := f.eventOf(&c.Turn, seq, fmt.Sprintf(`{"n":%d}`, seq))
			ev.Time = f.now.Add(time.Duration(seq) * time.Microsecond)
			ev.Type = []event.Type{event.TypeTextDelta, event.TypeStepStart, "of/another-kind"}[seq%3]
			if seq%3 == 0 { // also the first of several rows, and the last
				ev.Path = []string{"call_1", "c\"7"}
			}
			add.Events, want = append(add.Events, ev), append(want, ev)
		}
		f.commitTurn(add)
		wantEqual(f, "the latest event of the turn", f.getTurn("t").Seq, uint64(len(want)))
		wantEqual(f, "when the turn changed", f.getTurn("t").UpdatedAt, add.Now)
	}
	wantEqual(f, "the events", f.listEvents("t"), want)
}

func eventsAreReadFromAPlace(f *fixture) {
	const n = 10
	c := f.createRunning("s", "t")
	add := f.commitOf(c)
	for seq := uint64(1); seq <= n; seq++ {
		add.Events = append(add.Events, f.eventOf(&c.Turn, seq, `{}`))
	}
	f.commitTurn(add)
	for after := uint64(0); after <= n+1; after++ {
		for _, limit := range []int{1, 3, n, n + 1} {
			list := try(f.Events(f.Context(), "t", after, limit)).wantOK(f)
			var got, want []uint64
			for _, ev := range list {
				got = append(got, ev.Seq)
			}
			for seq := after + 1; seq <= n && len(want) < limit; seq++ {
				want = append(want, seq)
			}
			wantEqual(f, fmt.Sprintf("up to %d events after %d", limit, after), got, want)
		}
	}
	for _, after := range []uint64{1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		list := try(f.Events(f.Context(), "t", after, 10)).wantOK(f)
		wantEqual(f, fmt.Sprintf("the events after %d", after), list, nil)
	}
	for _, limit := range []int{0, -1} {
		list := try(f.Events(f.Context(), "t", 0, limit)).wantOK(f)
		wantEqual(f, fmt.Sprintf("up to %d events", limit), list, nil)
	}
	list := try(f.Events(f.Context(), "none", 0, 10)).wantOK(f)
	wantEqual(f, "the events of an unknown turn", list, nil)
}

func eventsWithAGapAreRefused(f *fixture) {
	c := f.createRunning("s", "t")
	first := f.commitOf(c)
	first.Events = append(first.Events, f.eventOf(&c.Turn, 1, `{}`), f.eventOf(&c.Turn, 2, `{}`))
	f.commitTurn(first)
	before := f.getTurn("t")
	for _, seqs := range [][]uint64{{4}, {2}, {1, 2}, {0}, {3, 5}, {3, 3}, {3, 2}} {
		wrong := f.commitOf(c)
		wrong.Messages, wrong.State = textMessages("wrong"), []byte("wrong")
		for _, seq := range seqs {
			wrong.Events = append(wrong.Events, f.eventOf(&c.Turn, seq, `{"wrong":true}`))
		}
		if err := f.Commit(f.Context(), wrong); err == nil {
			f.Fatalf("events %v are taken after event 2", seqs)
		}
	}
	wantEqual(f, "the turn", f.getTurn("t"), before)
	wantEqual(f, "how many events there are", len(f.listEvents("t")), 2)
	wantEqual(f, "the messages", try(f.OwnMessages(f.Context(), "t")).wantOK(f), textMessages("input of t"))
	last := f.finishOf(c) // the worker still holds the turn
	last.Events = append(last.Events, f.eventOf(&c.Turn, 3, `{}`))
	f.commitTurn(last)
}

// texts are JSON texts that a careless store would alter.
var texts = map[string]string{
	"order":      `{"z":1,"a":2,"m":{"y":1,"b":2}}`,
	"space":      " { \"a\" :\t1 ,\n\"b\":[ ] } ",
	"twice":      `{"a":1,"a":2}`,
	"number":     `{"a":1.0,"b":1e400,"c":12345678901234567890,"d":-0,"e":0.10}`,
	"escaped":    `{"a":"\u00e9\u2028\/\u003c","b":"\ud83d\ude00"}`,
	"plain":      `{"a":"é 😀 中文 <&> ` + "\u2028" + `"}`,
	"zero":       `{"a":"\u0000"}`,
	"surrogate":  `{"a":"\ud83d"}`,
	"quotes":     `{"a":"'\"\\ $1 %s {} -- ; DROP"}`,
	"scalar":     `"text"`,
	"null":       `null`,
	"empty":      `{}`,
	"long":       `{"a":"` + strings.Repeat("long ", 100_000) + `"}`,
	"deep":       strings.Repeat("[", 500) + strings.Repeat("]", 500),
	"normalized": "{\"e\u0301\":\"\u00e9\"}",
}

func bytesAreKeptAsTheyAre(f *fixture) {
	for name, text := range texts {
		raw := func() json.RawMessage { return json.RawMessage(text) }
		session, turn := "session-"+name, "turn-"+name
		s := f.sessionOf(ann, session)
		s.Session.Metadata = raw()
		try(f.CreateSession(f.Context(), s)).wantOK(f)
		n := f.turnOf(session, turn)
		n.Turn.Request, n.Turn.Metadata, n.Input = raw(), raw(), [][]byte{raw()}
		f.createTurn(n)
		c := f.claimTurn(turn)
		asked := f.suspendOf(c, "q")
		asked.Asked[0].Request = raw()
		asked.Events = append(asked.Events, f.eventOf(&c.Turn, 1, text))
		asked.State, asked.Messages = []byte(text+"\x00\xff"), [][]byte{raw()}
		asked.Journal = []store.JournalRow{{Key: turn + "/call", Entry: raw(), Result: raw()}}
		f.commitTurn(asked)
		answer := f.answerOf(turn, "q", "")
		answer.Answer = raw()
		try(f.AnswerInteraction(f.Context(), answer)).wantOK(f)
		c = f.claimTurn(turn)
		last := f.finishOf(c)
		last.Messages = nil
		last.Finish.Result, last.Finish.Snapshot.Custom, last.Finish.Snapshot.State, last.Finish.Snapshot.Artifacts = raw(), raw(), raw(), raw()
		f.commitTurn(last)

		got := f.getTurn(turn)
		question := try(f.Interaction(f.Context(), store.Everything, turn, "q")).wantOK(f)
		snapshot := try(f.Snapshot(f.Context(), store.Everything, c.Turn.SnapshotID)).wantOK(f)
		own := try(f.OwnMessages(f.Context(), turn)).wantOK(f)
		journal := try(f.Journal(f.Context(), turn)).wantOK(f)
		for what, kept := range map[string][]byte{
			"metadata of the session": f.getSession(session).Metadata, "request": got.Request, "result": got.Result,
			"metadata of the turn": got.Metadata, "event": f.listEvents(turn)[0].Data, "question": question.Request,
			"answer": question.Answer, "entry of the journal": journal[0].Entry, "result of the call": journal[0].Result,
			"state of the application": snapshot.Custom, "state of the plugins": snapshot.State, "artifacts": snapshot.Artifacts,
			"input": own[0], "message": own[1],
		} {
			wantEqual(f, "the "+what+" ("+name+")", string(kept), text)
		}
		wantEqual(f, "the state ("+name+")", string(c.State), text+"\x00\xff")
	}
}

func messagesAreAdded(f *fixture) {
	c := f.createRunning("s", "t")
	want := textMessages("input of t")
	for i := range 4 {
		add := f.commitOf(c)
		add.Messages = textMessages(numberedNames(fmt.Sprint("message-", i), i)...)
		want = append(want, add.Messages...)
		f.commitTurn(add)
	}
	own := try(f.OwnMessages(f.Context(), "t")).wantOK(f)
	wantEqual(f, "the messages", own, want)
	f.finishTurn(c)
	own = try(f.OwnMessages(f.Context(), "snapshot-t")).wantOK(f)
	wantEqual(f, "the messages of the snapshot", own, append(want, textMessages("answer of t")...))
	own = try(f.OwnMessages(f.Context(), "none")).wantOK(f)
	wantEqual(f, "the messages of nothing", own, nil)
}

func theJournalIsKeptByKey(f *fixture) {
	c := f.createRunning("s", "t")
	row := func(key, entry string) store.JournalRow {
		return store.JournalRow{Key: key, Entry: json.RawMessage(`{"entry":"` + entry + `"}`)}
	}
	write := func(rows ...store.JournalRow) {
		f.Helper()
		add := f.commitOf(c)
		add.Journal = rows
		f.commitTurn(add)
	}
	write(row("k3", "began"), row("k1", "began"))
	write(row("k2", "began"), row("k1", "ended"))
	write(row("k0", "began"), row("k0", "ended")) // both in one commit
	ended := store.JournalRow{Key: "k3", Entry: json.RawMessage(`{"entry":"ended"}`), Result: json.RawMessage(`{"z":1}`)}
	write(ended)
	journal := try(f.Journal(f.Context(), "t")).wantOK(f)
	wantEqual(f, "the journal", journal, []store.JournalRow{ended, row("k1", "ended"), row("k2", "began"), row("k0", "ended")})
	journal = try(f.Journal(f.Context(), "none")).wantOK(f)
	wantEqual(f, "the journal of an unknown turn", journal, nil)
	f.yieldTurn(c)
	wantEqual(f, "the journal that a worker is given", f.claimTurn("t").Journal, []store.JournalRow{ended, row("k1", "ended"), row("k2", "began"), row("k0", "ended")})
}

func theStateIsReplaced(f *fixture) {
	c := f.createRunning("s", "t")
	write := func(state []byte, steps int) {
		f.Helper()
		next := f.commitOf(c)
		next.State, next.Steps, next.Yield = state, steps, true
		f.commitTurn(next)
		c = f.claimTurn("t")
	}
	write([]byte("one"), 1)
	wantEqual(f, "the state", string(c.State), "one")
	wantEqual(f, "the steps", c.Turn.Steps, 1)
	write(nil, 0)
	wantEqual(f, "the state after a commit without", string(c.State), "one")
	wantEqual(f, "the steps after a commit without", c.Turn.Steps, 1)
	write([]byte("\x00\x01\xff two"), 5)
	wantEqual(f, "the state", string(c.State), "\x00\x01\xff two")
	wantEqual(f, "the steps", c.Turn.Steps, 5)
}

func aStateClearsTheStrikes(f *fixture) {
	f.createQueued("s", "t")
	lapseLease(f, "t")
	lapseLease(f, "t")
	c := f.claimTurn("t")
	wantEqual(f, "the strikes", c.Turn.Strikes, 2)
	add := f.commitOf(c)
	add.Messages = textMessages("a")
	add.Events = append(add.Events, f.eventOf(&c.Turn, 1, `{}`))
	f.commitTurn(add)
	wantEqual(f, "the strikes after a commit without a state", f.getTurn("t").Strikes, 2)
	add = f.commitOf(c)
	add.State = []byte("state")
	f.commitTurn(add)
	wantEqual(f, "the strikes after a commit with one", f.getTurn("t").Strikes, 0)
}

func aCommitMayBeEmpty(f *fixture) {
	c := f.createRunning("s", "t")
	f.commitTurn(f.commitOf(c))
	wantEqual(f, "the state", f.turnStatus("t"), store.Running)
	wantEqual(f, "the latest event", f.getTurn("t").Seq, 0)
}

func aYieldMayWaitForAWhile(f *fixture) {
	yield := f.commitOf(f.createRunning("s", "t"))
	yield.Yield, yield.Due = true, f.now.Add(time.Minute)
	f.commitTurn(yield)
	wantEqual(f, "the job", f.queue.Take(), []store.Job{{TurnID: "t", NotBefore: yield.Due}})
	f.claimTurn("t") // the turn itself is due
}

func aYieldHandsTheTurnBack(f *fixture) {
	c := f.createRunning("s", "t")
	yield := f.commitOf(c)
	yield.Yield, yield.State = true, []byte("state")
	yield.Events = append(yield.Events, f.eventOf(&c.Turn, 1, `{}`))
	f.commitTurn(yield)
	f.wantJobs("t")
	got := f.getTurn("t")
	wantEqual(f, "the state", got.Status, store.Pending)
	wantEqual(f, "the worker", got.Worker, "")
	wantEqual(f, "the lease", got.LeaseUntil, time.Time{})
	wantEqual(f, "whether it is admitted", got.Admitted, true)
	wantEqual(f, "the strikes", got.Strikes, 0)
	c = f.claimTurn("t")
	wantEqual(f, "the state that a worker is given", string(c.State), "state")
	wantEqual(f, "the latest event", c.Turn.Seq, 1)
}
