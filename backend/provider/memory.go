package provider

import (
	"encoding/json"
	"maps"
)

// memory is a session's record of its session at a provider.
type memory struct {
	Version   int    `json:"version"`
	Provider  string `json:"provider"`
	SessionID string `json:"session_id"`
}

// memoryKey is the session state key of an agent's memory.
func memoryKey(agentID string) string { return "provider:" + agentID }

// knowsSession reports whether, by the session's state, the provider has the turn's session.
func (d *drive) knowsSession() bool {
	var m memory
	data := d.job.Session[memoryKey(d.job.Agent.ID)]
	return json.Unmarshal(data, &m) == nil && m.Version == positionVersion && m.Provider == d.at.Provider && m.SessionID == d.at.SessionID
}

// rememberSession returns a session's state with the provider's session added.
func (d *drive) rememberSession(session map[string]json.RawMessage) map[string]json.RawMessage {
	kept := make(map[string]json.RawMessage, len(session)+1)
	maps.Copy(kept, session)
	kept[memoryKey(d.job.Agent.ID)] = encodeRecord(&memory{positionVersion, d.at.Provider, d.at.SessionID})
	return kept
}
