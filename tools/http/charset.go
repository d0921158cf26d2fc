package http

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

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
