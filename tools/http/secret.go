package http

import (
	"bytes"
	"slices"
	"strings"
)

// shortestSecret is the minimum length of a configured value that is searched for in responses.
// Shorter ones would match any text.
const shortestSecret = 8

// credentialNames are suffixes of the names of headers and parameters with credentials, ignoring
// dashes and underscores.
var credentialNames = []string{
	"apikey", "appkey", "accesskey", "authkey", "secretkey", "subscriptionkey", "privatekey",
	"token", "secret", "password", "passwd", "authorization", "auth", "cookie",
	"signature", "credential", "credentials", "appid", "jwt",
}

func namesCredential(name string) bool {
	name = strings.NewReplacer("-", "", "_", "", "=", "").Replace(strings.ToLower(name))
	return name == "key" || name == "sig" ||
		slices.ContainsFunc(credentialNames, func(end string) bool { return strings.HasSuffix(name, end) })
}

func longestFirst(texts []string) [][]byte {
	var secrets [][]byte
	for _, text := range texts {
		if len(text) >= shortestSecret {
			secrets = append(secrets, []byte(text))
		}
	}
	slices.SortFunc(secrets, func(a, b []byte) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return bytes.Compare(a, b)
	})
	return slices.CompactFunc(secrets, bytes.Equal)
}
