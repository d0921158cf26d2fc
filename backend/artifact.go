package backend

// Artifact is something that a turn made and that is too large for the
// conversation, such as the whole of a tool result that was cut.
type Artifact struct {
	// ID identifies the artifact within the turn.
	ID        string `json:"id"`
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}
