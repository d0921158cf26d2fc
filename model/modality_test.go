package model_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

func file(mediaType string) model.Part {
	return model.Part{Type: model.PartFile, Blob: &model.Blob{MediaType: mediaType, Name: "f"}}
}

func picture() model.Part {
	return model.Part{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", Data: []byte{1}}}
}

func user(parts ...model.Part) model.Message {
	return model.Message{Role: model.RoleUser, Parts: parts}
}

func result(content ...model.Part) model.Message {
	return model.Message{Role: model.RoleTool, Parts: []model.Part{{
		Type: model.PartToolResult, ToolResult: &model.ToolResult{CallID: "c", Name: "look", Content: content},
	}}}
}

func TestModalities(t *testing.T) {
	for mediaType, want := range map[string]spec.Modality{
		"image/png": spec.ModalityImage, "IMAGE/JPEG": spec.ModalityImage, "audio/mpeg": spec.ModalityAudio, "video/mp4": spec.ModalityVideo,
		"application/pdf": spec.ModalityPDF, "Application/PDF; charset=x": spec.ModalityPDF, "text/csv": spec.ModalityText,
		"application/zip": "", "": "", "imagery": "",
	} {
		part := file(mediaType)
		if got := part.Modality(); got != want {
			t.Errorf("%q is %q, want %q", mediaType, got, want)
		}
	}
	for _, part := range []model.Part{{Type: model.PartImage}, {Type: model.PartImage, Blob: &model.Blob{MediaType: "application/octet-stream"}}} {
		if got := part.Modality(); got != spec.ModalityImage {
			t.Errorf("a picture is %q", got)
		}
	}
	if got := (&model.Part{Type: model.PartFile}).Modality(); got != "" {
		t.Errorf("an empty file is %q", got)
	}
}

// limited calls a model that reads some modalities and returns the messages sent to it.
func limited(t *testing.T, messages []model.Message, input ...spec.Modality) ([]model.Message, error) {
	t.Helper()
	exec := &played{plays: []play{{events: []model.Event{finish}}}}
	_, err := ask(t.Context(), &model.Limited{Executor: exec, ModelID: "m", Input: input}, &model.Request{Messages: messages})
	if len(exec.asked) == 0 {
		return nil, err
	}
	return exec.asked[0].Messages, err
}

func TestAModelIsNotSentWhatItCannotRead(t *testing.T) {
	_, err := limited(t, []model.Message{user(model.Text("look:"), picture(), file("audio/wav"), picture())}, spec.ModalityText, spec.ModalityPDF)
	want := "invalid_request: model m does not read image, audio; it reads text, pdf"
	if e := model.AsError(err); err == nil || e.Class != model.InvalidRequest || e.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	for name, messages := range map[string][]model.Message{
		"text":                   {user(model.Text("hi"))},
		"what it reads":          {user(file("application/pdf"))},
		"a file of unknown kind": {user(file("application/zip"))},
		"no message":             nil,
	} {
		sent, err := limited(t, messages, spec.ModalityPDF)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(messages) > 0 && &sent[0] != &messages[0] {
			t.Errorf("%s: the messages were copied", name)
		}
	}
}

// A message that was read before, or comes from a tool, does not end the session.
func TestANoteTakesThePlaceOfWhatIsNotRead(t *testing.T) {
	history := func() []model.Message {
		return []model.Message{
			user(model.Text("see"), picture()), model.Assistant("I see"),
			user(model.Text("and now?")), model.Assistant("I look"),
			result(model.Text("page 1"), file("application/pdf"), picture()),
			model.System("hint"),
		}
	}
	given := history()
	got, err := limited(t, given, spec.ModalityText, spec.ModalityImage)
	if err != nil {
		t.Fatal(err)
	}
	want := history()
	want[4] = result(model.Text("page 1"), model.Text("[pdf f left out: this model does not read it]"), picture())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reading images (-want +got):\n%s", diff)
	}
	if got, err = limited(t, given, spec.ModalityText); err != nil {
		t.Fatal(err)
	}
	note := model.Text("[image left out: this model does not read it]")
	want[0] = user(model.Text("see"), note)
	want[4] = result(model.Text("page 1"), model.Text("[pdf f left out: this model does not read it]"), note)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reading text (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(history(), given); diff != "" {
		t.Errorf("the request was changed: %s", diff)
	}
}

func TestAPoolChoosesWhoCanRead(t *testing.T) {
	build := func() *model.Pool {
		text, eyes, all := member("text", 1), member("eyes", 1), member("all", 1)
		text.Input, eyes.Input = []spec.Modality{spec.ModalityText}, []spec.Modality{spec.ModalityText, spec.ModalityImage}
		all.Input = []spec.Modality{spec.ModalityText, spec.ModalityImage, spec.ModalityAudio}
		all.FailoverOnly = true
		return model.NewPool("pool", []model.Member{text, eyes, all}, moves)
	}
	say := func(messages ...model.Message) *model.Request {
		return &model.Request{SessionID: "s", Messages: messages}
	}
	old, hi := user(picture()), user(model.Text("hi"))
	for name, tt := range map[string]struct {
		asked []*model.Request
		want  []string
	}{
		"text":                     {[]*model.Request{say(hi)}, []string{"text"}},
		"an image":                 {[]*model.Request{say(old)}, []string{"eyes"}},
		"a sound, by a spare":      {[]*model.Request{say(user(file("audio/wav")))}, []string{"all"}},
		"an image in history":      {[]*model.Request{say(old, model.Assistant("x"), hi)}, []string{"eyes"}},
		"a session that gets eyes": {[]*model.Request{say(hi), say(old), say(hi)}, []string{"text", "eyes", "eyes"}},
		"nobody reads videos":      {[]*model.Request{say(user(file("video/mp4"), picture()))}, []string{"invalid_request"}},
		"nobody read videos once":  {[]*model.Request{say(user(file("video/mp4")), model.Assistant("x"), hi)}, []string{"text"}},
	} {
		pool := build()
		var got []string
		for _, req := range tt.asked {
			got = append(got, served(t, pool, req))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	_, err := ask(t.Context(), build(), say(user(file("video/mp4"), picture())))
	if want := "invalid_request: no member of pool pool reads all of video, image"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestAMemberIsSentANoteForWhatItCannotRead(t *testing.T) {
	exec := &played{plays: []play{{events: []model.Event{finish}}}}
	pool := model.NewPool("pool", []model.Member{{ID: "a", Weight: 1, Executor: exec, Input: []spec.Modality{spec.ModalityText}}}, moves)
	if _, err := ask(t.Context(), pool, &model.Request{Messages: []model.Message{user(picture()), model.Assistant("x"), user(model.Text("hi"))}}); err != nil {
		t.Fatal(err)
	}
	if got := exec.asked[0].Messages[0].Text(); got != "[image left out: this model does not read it]" {
		t.Errorf("it was sent %q", got)
	}
}
