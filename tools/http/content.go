package http

import (
	"bytes"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
	"golang.org/x/text/encoding/charmap"
)

// content is the part of a response's body that was read.
type content struct {
	media  string
	isText bool
	// text is the body, or its beginning, in UTF-8.
	text     string
	complete bool
	// total is the length of the whole body; -1 if unknown.
	total int64
}

// decodeText sets media, isText and text from the raw content.
func (c *content) decodeText(raw []byte, typ string) {
	media, params, err := mime.ParseMediaType(typ)
	if err == nil {
		c.media = media
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(raw, 0) >= 0 {
		return
	}
	switch {
	case err != nil || media == "application/octet-stream":
		// The server does not declare a type, so the content decides.
		if c.isText = utf8.Valid(raw); c.isText {
			c.text = string(raw)
		}
	case !isTextual(media):
	default:
		c.text, c.isText = toUTF8(raw, strings.ToLower(params["charset"]))
	}
}

// isTextual reports whether a media type is readable text.
func isTextual(media string) bool {
	if strings.HasPrefix(media, "text/") || isJSON(media) || isXML(media) {
		return true
	}
	switch media {
	case "application/javascript", "application/x-javascript", "application/x-www-form-urlencoded",
		"application/yaml", "application/x-yaml", "application/toml", "application/sql",
		"application/graphql", "application/x-ndjson", "application/jsonl", "application/json-seq",
		"application/x-sh", "application/csv":
		return true
	default:
		return strings.HasSuffix(media, "+yaml") || strings.HasSuffix(media, "+json-seq")
	}
}

// toUTF8 converts text from the character sets still common on the web. It returns false for
// others.
func toUTF8(raw []byte, charset string) (string, bool) {
	switch charset {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return strings.ToValidUTF8(string(raw), "\uFFFD"), true
	case "iso-8859-1", "latin1", "windows-1252", "cp1252":
		// Browsers decode ISO 8859-1 as Windows-1252, which has more characters.
		text, err := charmap.Windows1252.NewDecoder().Bytes(raw)
		return string(text), err == nil
	case "iso-8859-15":
		text, err := charmap.ISO8859_15.NewDecoder().Bytes(raw)
		return string(text), err == nil
	default:
		return "", false
	}
}

// trimCharacter removes an incomplete character at the end of UTF-8 text.
func trimCharacter(raw []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(raw); i++ {
		rest, last := raw[:len(raw)-i], raw[len(raw)-i:]
		if utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return raw
			}
			return rest
		}
	}
	return raw
}

// mayBeJSON reports whether the server declared the content as JSON, or not at all.
func (c *content) mayBeJSON() bool { return c.media == "" || isJSON(c.media) }

// describeBinary names content that cannot be shown.
func (c *content) describeBinary() string {
	media := c.media
	if media == "" {
		media = "a body of unknown type"
	}
	if c.total < 0 {
		return media
	}
	return fmt.Sprintf("%s, %d bytes", media, c.total)
}

// fitsIn reports whether all of the text can be shown in limit bytes.
func (c *content) fitsIn(limit int) bool { return c.complete && len(c.text) <= limit }

// clippedText returns at most limit bytes of the text, with a note if it is cut.
func (c *content) clippedText(limit int) string {
	if c.fitsIn(limit) {
		return c.text
	}
	note := fmt.Sprintf("\n[cut: %d bytes in all]", c.total)
	if c.total < 0 {
		note = fmt.Sprintf("\n[cut at %d bytes]", limit)
	}
	return clip.Head(c.text, limit-len(note)) + note
}
