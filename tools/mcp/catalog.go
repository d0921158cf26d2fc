package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/tools"
)

const (
	// catalogVersion is the version of the format of catalogues.
	catalogVersion = 1
	// maxCatalog bounds a list of tools, in bytes.
	maxCatalog = 5 << 20
	// maxTools bounds how many tools a server may have.
	maxTools = 512
	// maxDescription bounds what a server says of one tool, in bytes.
	maxDescription = 4096
	// maxName bounds the names that a server gives, in bytes.
	maxName = 256
)

// catalog is what a server says of its tools. It is immutable.
type catalog struct {
	// Version is the version of the format.
	Version int `json:"version"`
	// Fingerprint names the settings under which the server was asked.
	Fingerprint string     `json:"fingerprint"`
	Server      serverInfo `json:"server"`
	// Tools are sorted by name.
	Tools []toolInfo `json:"tools"`
}

// serverInfo is what a server calls itself.
type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// toolInfo is what a server says of a tool.
type toolInfo struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  annotations     `json:"annotations,omitzero"`
}

// annotations are the hints that the runtime makes use of.
type annotations struct {
	ReadOnly   bool `json:"readOnlyHint,omitempty"`
	Idempotent bool `json:"idempotentHint,omitempty"`
}

// toolEffect returns the class of a tool's effect.
func (a annotations) toolEffect() tools.Effect {
	switch {
	case a.ReadOnly:
		return tools.Read
	case a.Idempotent:
		return tools.Idempotent
	default:
		return tools.Once
	}
}

// newCatalog returns the catalogue of what a server said, cleaned and sorted.
func newCatalog(fingerprint string, server serverInfo, list []toolInfo) *catalog {
	c := &catalog{Version: catalogVersion, Fingerprint: fingerprint, Server: server, Tools: slices.Clone(list)}
	c.cleanTools()
	return c
}

// cleanTools bounds the texts and sorts the tools. Cleaning twice changes nothing.
func (c *catalog) cleanTools() {
	c.Server.Name, c.Server.Version = cleanText(c.Server.Name, maxName), cleanText(c.Server.Version, maxName)
	for i := range c.Tools {
		t := &c.Tools[i]
		t.Description = cleanText(t.Description, maxDescription)
		t.InputSchema, t.OutputSchema = compactSchema(t.InputSchema), compactSchema(t.OutputSchema)
	}
	slices.SortStableFunc(c.Tools, func(a, b toolInfo) int { return strings.Compare(a.Name, b.Name) })
}

// compactSchema returns a schema without insignificant space, so that one from a file
// compares with one from a server; nil for null. Members of its root that are null, such as
// required, are left out: servers write them for empty lists.
func compactSchema(raw json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil || out.String() == "null" {
		return nil // what came out of a decoder is JSON
	}
	members, ok := rawjson.Members(out.Bytes())
	isNull := func(m rawjson.Member) bool { return string(m.Value) == "null" }
	if !ok || !slices.ContainsFunc(members, isNull) {
		return out.Bytes()
	}
	return rawjson.EncodeMembers(slices.DeleteFunc(members, isNull))
}

// cleanText takes control characters out of a text, and characters that change
// the direction of what stands around them, and bounds it to limit bytes.
func cleanText(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	return clip.Head(text, limit-len(mark)) + mark
}

// encodeFile returns the catalogue as its file holds it.
func (c *catalog) encodeFile() ([]byte, error) {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return nil, err
	}
	data = append(data, '\n')
	if len(data) > maxCatalog {
		return nil, fmt.Errorf("the list of tools has %d bytes; at most %d are allowed", len(data), maxCatalog)
	}
	return data, nil
}

// decodeCatalog reads what encode wrote. The file may have been changed since:
// it is checked like what a server says.
func decodeCatalog(data []byte) (*catalog, error) {
	if len(data) > maxCatalog {
		return nil, fmt.Errorf("it has more than %d bytes", maxCatalog)
	}
	var head struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, errors.New("it is not a JSON object")
	}
	if head.Version == nil || *head.Version != catalogVersion {
		return nil, errors.New("it is of another version of the format")
	}
	c := new(catalog)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, errors.New("it is not a catalogue: a field has a value of another type")
	}
	if len(c.Tools) > maxTools {
		return nil, fmt.Errorf("it lists %d tools; at most %d are allowed", len(c.Tools), maxTools)
	}
	c.cleanTools()
	return c, nil
}

// serverFingerprint names what decides which server an entry means. Secrets do not
// enter it, and neither does anything that leaves the server the same.
func (c *Config) serverFingerprint(s *tools.Settings) string {
	dir := c.Dir
	if relative, err := filepath.Rel(s.Dir, c.Dir); err == nil && c.Dir != "" {
		dir = filepath.ToSlash(relative) // where the runtime was started does not count
	}
	auth := ""
	if c.Auth != nil {
		auth = c.Auth.Type + " " + c.Auth.ClientID + " " + strings.Join(c.Auth.Scopes, " ")
	}
	data, err := json.Marshal([]any{
		c.Command, dir, slices.Sorted(maps.Keys(c.Env)),
		c.URL, slices.Sorted(maps.Keys(c.Headers)), auth,
	})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
