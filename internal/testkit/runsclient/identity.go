package runsclient

import (
	"context"
	"net/http"
)

// Identity is the owner of a token.
type Identity struct {
	Subject   string `json:"sub"`
	Email     string `json:"email"`
	Workspace struct {
		ID   string `json:"id"`
		Slug string `json:"slug"`
		Name string `json:"name"`
	} `json:"workspace"`
}

// Identity returns the owner of the client's token.
func (c *Client) Identity(ctx context.Context) (*Identity, error) {
	var who Identity
	return &who, c.callAPI(ctx, http.MethodGet, "/api/oauth/userinfo", nil, &who)
}
