package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/mend"
)

const (
	// catalogVersion is the version of the format of catalogs.
	catalogVersion = 1
	// maxCatalog bounds a list of tools, in bytes.
	maxCatalog = 5 << 20
	// maxTools is the maximum number of tools of a server.
	maxTools = 512
	// maxDescription bounds a server's description of a tool, in bytes.
	maxDescription = 4096
	// maxName bounds the names given by a server, in bytes.
	maxName = 256
	// maxSchema bounds each schema of a tool, in bytes.
	maxSchema = 256 << 10
)

// catalog is a server's description of its tools. It is immutable.
type catalog struct {
	// Version is the version of the format.
	Version int `json:"version"`
	// Fingerprint identifies the settings used to query the server.
	Fingerprint string     `json:"fingerprint"`
	Server      serverInfo `json:"server"`
	// Features lists prompts and resources if the server has them.
	Features []string `json:"features,omitempty"`
	// Tools are sorted by name.
	Tools []toolInfo `json:"tools"`
}

// serverInfo is a server's name and version.
type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// toolInfo is a server's description of a tool.
type toolInfo struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  annotations     `json:"annotations,omitzero"`
	// RequiresTask reports whether the tool runs only as a task.
	RequiresTask bool `json:"requiresTask,omitempty"`
	// Unusable is why agents do not get the tool; empty if they do.
	Unusable string `json:"unusable,omitempty"`
}

// annotations are the hints that determine a tool's effect.
type annotations struct {
	ReadOnly bool `json:"readOnlyHint,omitempty"`
	// Destructive is set only if the server says so explicitly, although it is the protocol's
	// default.
	Destructive bool `json:"destructiveHint,omitempty"`
	Idempotent  bool `json:"idempotentHint,omitempty"`
}

// toolEffect returns the effect of a tool. The configured effect takes precedence over the hints,
// except that a tool that declares itself destructive is never read-only.
func (a annotations) toolEffect(configured tools.Effect) tools.Effect {
	repeatable := tools.Once
	if a.Idempotent {
		repeatable = tools.Idempotent
	}
	effect := configured
	if effect == "" && a.ReadOnly {
		effect = tools.Read
	}
	if effect == "" || effect == tools.Read && a.Destructive {
		return repeatable
	}
	return effect
}

// newCatalog returns the catalog of a server's tools, cleaned and sorted.
func newCatalog(fingerprint string, server serverInfo, list []toolInfo) *catalog {
	c := &catalog{Version: catalogVersion, Fingerprint: fingerprint, Server: server, Tools: slices.Clone(list)}
	c.cleanTools()
	return c
}

// cleanTools bounds the texts and sorts the tools. It is idempotent.
func (c *catalog) cleanTools() {
	c.Server.Name, c.Server.Version = clip.Visible(c.Server.Name, maxName), clip.Visible(c.Server.Version, maxName)
	for i := range c.Tools {
		t := &c.Tools[i]
		t.Description = clip.Visible(t.Description, maxDescription)
		t.InputSchema, t.OutputSchema = mend.Schema(t.InputSchema), mend.Schema(t.OutputSchema)
		t.Unusable = clip.Visible(t.Unusable, maxName)
	}
	slices.SortStableFunc(c.Tools, func(a, b toolInfo) int { return strings.Compare(a.Name, b.Name) })
}

// sameTools reports whether two catalogs list the same tools.
func sameTools(a, b *catalog) bool {
	return slices.Equal(a.Features, b.Features) && slices.EqualFunc(a.Tools, b.Tools, func(a, b toolInfo) bool {
		return a.Name == b.Name && changedParts(&a, &b) == ""
	})
}

// encodeFile returns the catalog in its file format.
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

// decodeCatalog decodes the output of encodeFile. The file may have been changed since, so it is
// checked like a server's response.
func decodeCatalog(data []byte) (*catalog, error) {
	if len(data) > maxCatalog {
		return nil, fmt.Errorf("it has more than %d bytes", maxCatalog)
	}
	var head struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, errors.New("not a JSON object")
	}
	if head.Version == nil || *head.Version != catalogVersion {
		return nil, errors.New("it is of another version of the format")
	}
	c := new(catalog)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, errors.New("it is not a catalog: a field has a value of another type")
	}
	if len(c.Tools) > maxTools {
		return nil, fmt.Errorf("it lists %d tools; at most %d are allowed", len(c.Tools), maxTools)
	}
	c.cleanTools()
	return c, nil
}

// serverFingerprint identifies the server that an entry refers to. It excludes secrets and all
// settings that do not change the server.
func (c *config) serverFingerprint(s *tools.Settings) string {
	dir := c.Dir
	if relative, err := filepath.Rel(s.Dir, c.Dir); err == nil && c.Dir != "" {
		dir = filepath.ToSlash(relative) // the start directory does not count
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
