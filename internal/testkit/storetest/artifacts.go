package storetest

import (
	"bytes"
	"strings"

	"github.com/agentruntime/agentruntime/store"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var artifactTests = []test{
	{name: "AnArtifactIsReadAsItWasMade", run: anArtifactIsReadAsItWasMade},
	{name: "TheyAreListedInOrderWithoutData", run: theyAreListedInOrderWithoutData},
	{name: "ASessionMayBeginWithThem", run: aSessionMayBeginWithThem},
}

func anArtifactIsReadAsItWasMade(f *fixture) {
	c := f.createRunning("s", "t")
	add := f.commitOf(c)
	for id, data := range map[string]string{"bytes": "\x00\xff\xfe\n\x80", "empty": "", "large": strings.Repeat("\x00large", 200_000)} {
		add.Artifacts = append(add.Artifacts, f.artifactOf(&c.Turn, id, data))
	}
	f.commitTurn(add)
	for _, want := range add.Artifacts {
		got := try(f.Artifact(f.Context(), store.Of(ann), want.ID)).wantOK(f)
		same := got != nil && bytes.Equal(got.Data, want.Data) // cmp would take seconds
		if same {
			have, wanted := *got, *want
			have.Data, wanted.Data = nil, nil
			same = cmp.Equal(have, wanted, cmpopts.EquateEmpty())
		}
		if !same {
			f.Errorf("artifact %s is not what it should be", want.ID)
		}
	}
	wantError(f, try(f.Artifact(f.Context(), store.Everything, "none")).err, store.ErrNotFound)
}

func theyAreListedInOrderWithoutData(f *fixture) {
	c := f.createRunning("s", "t")
	f.createRunning("other", "u")
	var want []*store.Artifact
	for _, ids := range [][]string{{"c", "a"}, {"d"}, {"b"}} {
		add := f.commitOf(c)
		for _, id := range ids {
			a := f.artifactOf(&c.Turn, id, "data of "+id)
			add.Artifacts = append(add.Artifacts, a)
			listed := *a
			listed.Data = nil
			want = append(want, &listed)
		}
		f.commitTurn(add)
	}
	list := try(f.Artifacts(f.Context(), store.Of(ann), "t")).wantOK(f)
	wantEqual(f, "the artifacts", list, want)
	list = try(f.Artifacts(f.Context(), store.Of(ann), "u")).wantOK(f)
	wantEqual(f, "the artifacts of a turn without", list, nil)
	wantError(f, try(f.Artifacts(f.Context(), store.Of(ann), "none")).err, store.ErrNotFound)
}

func aSessionMayBeginWithThem(f *fixture) {
	n := f.sessionOf(ann, "s")
	n.Base = snapshotChain(f, "s", "base")
	want := f.artifactOf(&store.Turn{SessionID: "s", Owner: ann}, "artifact", "data")
	n.Artifacts = []*store.Artifact{want}
	try(f.CreateSession(f.Context(), n)).wantOK(f)
	got := try(f.Artifact(f.Context(), store.Of(ann), "artifact")).wantOK(f)
	wantEqual(f, "the artifact", got, want)
	wantError(f, try(f.Artifact(f.Context(), store.Of(bob), "artifact")).err, store.ErrNotFound)
	wantOK(f, f.DeleteSession(f.Context(), store.Of(ann), "s"))
	wantError(f, try(f.Artifact(f.Context(), store.Everything, "artifact")).err, store.ErrNotFound)
}
