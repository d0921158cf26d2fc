package model

// ToolAdapter is implemented by executors that change tools for their vendor.
type ToolAdapter interface {
	// ToolDialect returns the tool dialect of a model by its upstream name.
	ToolDialect(model string) ToolDialect
}

// ToolDialect describes the tools that models accept. Implementations are comparable: equal
// dialects change tools in the same way.
type ToolDialect interface {
	// Vendor returns the common name of the models, such as Gemini.
	Vendor() string
	// MaxTools returns the maximum number of tools in a request; 0 for no limit.
	MaxTools() int
	// Adapt returns the change to a tool.
	Adapt(t *Tool) ToolChange
}

// ToolChange is the change to a tool for a vendor. It is zero if the tool's meaning is unchanged.
type ToolChange struct {
	// Name is the name that is sent instead; empty for the tool's own.
	Name string
	// Dropped are the constraints of the parameters that the sent schema lacks.
	Dropped []string
}

// IsZero reports whether nothing is changed.
func (c *ToolChange) IsZero() bool { return c.Name == "" && len(c.Dropped) == 0 }
