package bedrock

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/spec"
)

// Config is a provider of type bedrock, as written in a configuration.
type Config struct {
	Region      string             `json:"region,omitempty" required:"true" pattern:"^[a-z0-9]+(-[a-z0-9]+)+$" doc:"The region of the endpoint, such as us-east-1. Requests are signed for it."`
	APIKey      string             `json:"api_key,omitempty" secret:"true" doc:"A Bedrock API key, such as ${AWS_BEARER_TOKEN_BEDROCK}, sent as a bearer token. Omit it with credentials."`
	Credentials *Credentials       `json:"credentials,omitempty" doc:"Signs requests with the keys of a user or role instead."`
	BaseURL     string             `json:"base_url,omitempty" doc:"The API's base URL, such as a private endpoint. Defaults to the regional endpoint, https://bedrock-runtime.REGION.amazonaws.com."`
	Headers     map[string]string  `json:"headers,omitempty" secret:"true" doc:"Extra headers of every request. They are signed."`
	Request     *spec.RequestEdits `json:"request,omitempty" doc:"Fields to set or omit in the JSON body of every request, before the model's and the agent's."`
}

// The sources of keys.
const (
	// fromFields takes the keys from the configuration.
	fromFields = "fields"
	// fromEnvironment takes the keys from environment variables.
	fromEnvironment = "environment"
	// fromProfile takes the keys from a profile of the shared credentials file.
	fromProfile = "profile"
	// fromContainer requests the role of a task or pod.
	fromContainer = "container"
	// fromInstance requests the role of a virtual machine.
	fromInstance = "instance"
	// fromWebIdentity assumes a role with another issuer's token.
	fromWebIdentity = "web_identity"
)

// Credentials are AWS keys or their source.
type Credentials struct {
	From            string `json:"from,omitempty" enum:"fields|environment|profile|container|instance|web_identity" default:"fields" doc:"The source of the keys: the fields below; AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN in the environment; a profile in a credentials file; the role of an ECS task or EKS pod, at the address in the environment; the role of an EC2 instance; or a role assumed with a token file."`
	AccessKeyID     string `json:"access_key_id,omitempty" secret:"true" doc:"The ID of the key, with from: fields."`
	SecretAccessKey string `json:"secret_access_key,omitempty" secret:"true" doc:"The key, with from: fields."`
	SessionToken    string `json:"session_token,omitempty" secret:"true" doc:"The token of temporary keys, with from: fields."`
	Profile         string `json:"profile,omitempty" default:"default" doc:"The profile, with from: profile. It must contain the keys themselves."`
	CredentialsFile string `json:"credentials_file,omitempty" path:"true" doc:"The file with the profile. Defaults to ~/.aws/credentials. Reloaded every five minutes."`
	RoleARN         string `json:"role_arn,omitempty" doc:"The role, with from: web_identity, such as ${AWS_ROLE_ARN}."`
	TokenFile       string `json:"token_file,omitempty" path:"true" doc:"The file with the token, with from: web_identity, such as ${AWS_WEB_IDENTITY_TOKEN_FILE}. It is read each time the role is assumed."`
}

// MarshalJSON writes the configuration without its secrets.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	c.APIKey, c.Headers = c.apiAccess().Redact()
	return json.Marshal(plain(c))
}

// MarshalJSON writes the record without its secrets.
func (c Credentials) MarshalJSON() ([]byte, error) {
	type plain Credentials
	c.AccessKeyID, c.SecretAccessKey, c.SessionToken = redact.Text(c.AccessKeyID), redact.Text(c.SecretAccessKey), redact.Text(c.SessionToken)
	return json.Marshal(plain(c))
}

var regionName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)

// Validate checks the record in isolation. Paths are relative to the provider. No message repeats a
// value that may hold a secret.
func (c *Config) Validate() diag.List {
	list := append(c.apiAccess().Check(), c.apiAccess().CheckCredential(c.Credentials != nil, "api_key or credentials")...)
	switch {
	case c.Region == "":
		list = append(list, diag.New(diag.InvalidValue, "region", "region is required").WithHint("give one, such as us-east-1"))
	case !regionName.MatchString(c.Region):
		list = append(list, diag.New(diag.InvalidValue, "region", "region is %q; it must look like us-east-1", c.Region))
	}
	if c.Credentials != nil {
		list = append(list, c.Credentials.validate()...)
		if c.APIKey != "" {
			list = append(list, diag.New(diag.InvalidValue, "credentials", "credentials contradicts api_key").WithHint("give one of the two"))
		}
	}
	return list
}

// validate checks that the fields match the source.
func (c *Credentials) validate() diag.List {
	var list diag.List
	fields := []struct {
		name, value string
		of          string
		required    bool
	}{
		{"access_key_id", c.AccessKeyID, fromFields, true},
		{"secret_access_key", c.SecretAccessKey, fromFields, true},
		{"session_token", c.SessionToken, fromFields, false},
		{"profile", c.Profile, fromProfile, false},
		{"credentials_file", c.CredentialsFile, fromProfile, false},
		{"role_arn", c.RoleARN, fromWebIdentity, true},
		{"token_file", c.TokenFile, fromWebIdentity, true},
	}
	from := cmp.Or(c.From, fromFields)
	switch from {
	case fromFields, fromEnvironment, fromProfile, fromContainer, fromInstance, fromWebIdentity:
	default:
		return append(list, diag.New(diag.InvalidValue, "credentials.from",
			"from is %q; allowed are fields, environment, profile, container, instance and web_identity", c.From))
	}
	for _, f := range fields {
		switch path := "credentials." + f.name; {
		case f.of == from && f.required && f.value == "":
			list = append(list, diag.New(diag.InvalidValue, path, "%s is required with from: %s", f.name, from))
		case f.of != from && f.value != "":
			list = append(list, diag.New(diag.InvalidValue, path, "%s has no effect with from: %s", f.name, from))
		default:
			list = append(list, vendorhttp.CheckSecret(path, f.name, f.value)...)
		}
	}
	return list
}

// apiAccess returns the settings for reaching the API.
func (c *Config) apiAccess() *vendorhttp.Access {
	a := &vendorhttp.Access{
		Request: c.Request, Body: bodyFields{}, APIKey: c.APIKey, BaseURL: c.BaseURL, DefaultBaseURL: "https://bedrock-runtime." + c.Region + "." + c.domain(),
		KeyHeader: "Authorization", Headers: c.Headers,
	}
	if c.Credentials != nil {
		a.KeySetting = "credentials"
	}
	return a
}

// domain returns the domain of the region's partition.
func (c *Config) domain() string {
	switch {
	case strings.HasPrefix(c.Region, "cn-"):
		return "amazonaws.com.cn"
	case strings.HasPrefix(c.Region, "eusc-"):
		return "amazonaws.eu"
	default:
		return "amazonaws.com"
	}
}
