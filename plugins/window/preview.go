package window

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/model"
)

// shortenResult returns a shortened copy of a tool result, or nil when it is not shortened. The
// same part, of a known weight, always yields the same bytes.
func (p *Preview) shortenResult(part *model.Part, partWeight int) *model.ToolResult {
	r := part.ToolResult
	if r == nil {
		return nil
	}
	content := partWeight - 4*callTokens - textWeight(r.Name)
	if toTokens(content) < p.MinTokens {
		return nil
	}
	var b strings.Builder
	b.WriteString(shortenText(model.PartsText(r.Content), p.MaxChars, p.MaxLines))
	for i := range r.Content {
		if r.Content[i].Blob != nil {
			b.WriteString(blobNote(&r.Content[i]))
		}
	}
	text := b.String()
	if textWeight(text) >= content {
		return nil
	}
	return &model.ToolResult{CallID: r.CallID, Name: r.Name, IsError: r.IsError, Content: []model.Part{model.Text(text)}}
}

// blobNote replaces an image or file.
func blobNote(p *model.Part) string {
	what := string(p.Type)
	if p.Blob.MediaType != "" {
		what += " " + p.Blob.MediaType
	}
	if p.Blob.Name != "" {
		what += " " + p.Blob.Name
	}
	return "\n[" + what + " left out]"
}

// shortenText returns the beginning and end of a text within the given characters and lines, with
// a note about the omission between them. A text within the limits is returned unchanged.
func shortenText(text string, maxChars, maxLines int) string {
	headChars, headLines := (maxChars+1)/2, (maxLines+1)/2
	head := headEnd(text, headChars, headLines)
	tail := tailStart(text, maxChars-headChars, maxLines-headLines)
	if head >= tail {
		return text
	}
	missing := text[head:tail]
	note := "[… " + strconv.Itoa(len(missing)) + " bytes"
	if lines := strings.Count(missing, "\n"); lines > 1 {
		note += " in " + strconv.Itoa(lines) + " lines"
	}
	note += " left out …]"
	var b strings.Builder
	b.Grow(head + len(note) + 2 + len(text) - tail)
	b.WriteString(text[:head])
	if head > 0 && text[head-1] != '\n' {
		b.WriteByte('\n')
	}
	b.WriteString(note)
	if tail < len(text) {
		b.WriteByte('\n')
		b.WriteString(text[tail:])
	}
	return b.String()
}

// headEnd returns the end of a text's first characters and lines.
func headEnd(text string, chars, lines int) int {
	i := 0
	for ; i < len(text) && chars > 0 && lines > 0; chars-- {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == '\n' {
			lines--
		}
		i += size
	}
	return i
}

// tailStart returns the start of a text's last characters and lines. A final line break begins no
// line.
func tailStart(text string, chars, lines int) int {
	i := len(text)
	for i > 0 && chars > 0 && lines > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if r == '\n' && i < len(text) {
			if lines--; lines == 0 {
				break
			}
		}
		i -= size
		chars--
	}
	return i
}
