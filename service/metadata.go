package service

import "encoding/json"

// SecretMetadata is the member of metadata in which a surface stores its secrets.
// Exports and forks of a session lack it, and PublicMetadata removes it from
// metadata that is shown.
const SecretMetadata = "_secrets"

// PublicMetadata returns metadata without its secrets.
func PublicMetadata(metadata json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(metadata, &all) != nil {
		return metadata
	}
	if _, has := all[SecretMetadata]; !has {
		return metadata
	}
	delete(all, SecretMetadata)
	if len(all) == 0 {
		return nil
	}
	public, err := json.Marshal(all)
	if err != nil {
		return nil // not reached: it was JSON
	}
	return public
}
