package tools

import (
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
)

// MaxOutput limits the text of a result that the model receives, in bytes. Longer text is cut,
// with a note.
const MaxOutput = 256 << 10

// Readable returns the result as a model reads it: Data replaces empty content, text is cut to
// MaxOutput, and invalid UTF-8 becomes the replacement character.
func (r Result) Readable() Result { return r.Within(MaxOutput) }

// Within is Readable with text of at most limit bytes.
func (r Result) Within(limit int) Result {
	if len(r.Content) == 0 && len(r.Data) > 0 {
		r.Content = []model.Part{model.Text(string(r.Data))}
	}
	r.Content = cleanParts(r.Content)
	total := 0
	for i := range r.Content {
		total += len(r.Content[i].Text)
	}
	if total > limit {
		if r.Whole == "" { // else it was cut before
			r.Whole = model.PartsText(r.Content)
		}
		r.Content = cutTo(limit, r.Content, total)
	}
	return r
}

// cleanParts returns parts without NULs and invalid UTF-8, which not every store and protocol
// accepts.
func cleanParts(parts []model.Part) []model.Part {
	isClean := func(p *model.Part) bool {
		b := p.Blob
		return clip.IsClean(p.Text) && (b == nil || clip.IsClean(b.Name) && clip.IsClean(b.URI) && clip.IsClean(b.MediaType))
	}
	first := slices.IndexFunc(parts, func(p model.Part) bool { return !isClean(&p) })
	if first < 0 {
		return parts
	}
	parts = slices.Clone(parts) // the tool may own them
	for i := first; i < len(parts); i++ {
		p := &parts[i]
		p.Text = clip.Clean(p.Text)
		if b := p.Blob; b != nil {
			p.Blob = &model.Blob{MediaType: clip.Clean(b.MediaType), Data: b.Data, URI: clip.Clean(b.URI), Name: clip.Clean(b.Name)}
		}
	}
	return parts
}

// cutTo cuts the text among parts, which has total bytes, to room bytes.
func cutTo(room int, parts []model.Part, total int) []model.Part {
	out := make([]model.Part, 0, len(parts))
	for _, p := range parts {
		if len(p.Text) > room {
			p.Text = clip.Head(p.Text, room) + fmt.Sprintf("\n[cut: the output has %d bytes in all]", total)
			return append(out, p)
		}
		room -= len(p.Text)
		out = append(out, p)
	}
	return out
}
