package model

// ToolAdapter is implemented by executors that change tools for their vendor.
type ToolAdapter interface {
	// ToolDialect returns the tool dialect of a model, by its vendor's name.
	ToolDialect(model string) ToolDialect
}

// ToolDialect is what models take as tools. Implementations are comparable: equal dialects
// change tools in the same way.
type ToolDialect interface {
	// Vendor returns what people call the models, such as Gemini.
	Vendor() string
	// MaxTools returns how many tools a request can have; 0 for any number.
	MaxTools() int
	// Adapt returns how a tool is changed.
	Adapt(t *Tool) ToolChange
}

// ToolChange is how a tool is changed for a vendor. It is zero for a tool that means the same.
type ToolChange struct {
	// Name is the name that is sent instead; empty for the tool's own.
	Name string
	// Dropped are the constraints of the parameters that the schema sent does not have.
	Dropped []string
}

// IsZero reports whether nothing is changed.
func (c *ToolChange) IsZero() bool { return c.Name == "" && len(c.Dropped) == 0 }
